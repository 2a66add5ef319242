package des

// Ring is a first-in first-out queue that grows as needed and allocates
// nothing once it is large enough. The zero value is empty.
type Ring[T any] struct {
	buf        []T // its length is a power of two
	head, size int
}

// Len is the number of elements.
func (r *Ring[T]) Len() int { return r.size }

// Push adds x at the end.
func (r *Ring[T]) Push(x T) {
	if r.size == len(r.buf) {
		grown := make([]T, max(8, 2*len(r.buf)))
		for i := range r.size {
			grown[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.size)&(len(r.buf)-1)] = x
	r.size++
}

// Pop takes the first element, of which there must be one.
func (r *Ring[T]) Pop() T {
	if r.size == 0 {
		panic("des: pop of an empty ring")
	}
	x := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.size--
	return x
}

// At returns the element of that place in the queue, from 0 to Len-1.
func (r *Ring[T]) At(i int) T {
	if i < 0 || i >= r.size {
		panic("des: place outside a ring")
	}
	return r.buf[(r.head+i)&(len(r.buf)-1)]
}

// Peek returns the first element, of which there must be one, and leaves it.
func (r *Ring[T]) Peek() T {
	if r.size == 0 {
		panic("des: peek into an empty ring")
	}
	return r.buf[r.head]
}
