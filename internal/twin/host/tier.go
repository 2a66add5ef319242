package host

import (
	"cmp"
	"container/list"
	"slices"
)

// lru is a set of extents of bounded size that forgets what was touched
// longest ago.
type lru struct {
	most  int
	order *list.List
	at    map[int64]*list.Element
}

func newLRU(most int) lru {
	return lru{most: most, order: list.New(), at: map[int64]*list.Element{}}
}

// touch says whether e was there, and puts it first.
func (l *lru) touch(e int64) bool {
	if x, ok := l.at[e]; ok {
		l.order.MoveToFront(x)
		return true
	}
	if l.most == 0 {
		return false
	}
	if l.order.Len() == l.most {
		last := l.order.Back()
		delete(l.at, last.Value.(int64))
		last.Value = e
		l.order.MoveToFront(last)
		l.at[e] = last
		return false
	}
	l.at[e] = l.order.PushFront(e)
	return false
}

// maxMoves bounds how many extents change tiers at once.
const maxMoves = 256

// promoteExtents puts the extents that were used most lately on the faster
// tiers. A move reads the extent on one tier and writes it on the other; no
// more than maxMoves are made at a time. Counts are halved, so that the past
// fades.
func (s *Storage) promoteExtents(i int32, _ int64) {
	st := &s.stores[i]
	s.sim.After(int64(st.spec.Promote), s.promote, i, 0)
	type extent struct {
		volume int32
		n      int
		heat   uint32
	}
	var all []extent
	for _, vol := range st.volumes {
		for n, heat := range s.volumes[vol].heat {
			all = append(all, extent{vol, n, heat})
			s.volumes[vol].heat[n] = heat / 2
		}
	}
	// Of equally used extents, those stay that are on the faster tier.
	slices.SortStableFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(b.heat, a.heat), cmp.Compare(s.volumes[a.volume].tier[a.n], s.volumes[b.volume].tier[b.n]))
	})
	// An extent moves up only for one that moves down: pairs keep every tier
	// as full as it was.
	var up, down []extent
	for rank, x := range all {
		belongs := uint8(0)
		for int64(rank) >= st.extents(int(belongs)+1) {
			belongs++
		}
		switch at := s.volumes[x.volume].tier[x.n]; {
		case at > belongs:
			up = append(up, x)
		case at < belongs:
			down = append(down, x)
		}
	}
	slices.Reverse(down) // the least used first
	for k := range min(len(up), len(down), maxMoves/2) {
		a, b := up[k], down[k]
		va, vb := &s.volumes[a.volume], &s.volumes[b.volume]
		if va.tier[a.n] <= vb.tier[b.n] {
			continue
		}
		s.moveExtent(a.volume, a.n, vb.tier[b.n])
		s.moveExtent(b.volume, b.n, va.tier[a.n])
		va.tier[a.n], vb.tier[b.n] = vb.tier[b.n], va.tier[a.n]
		st.usage.Promoted++
	}
}

// moveExtent makes the operations of copying an extent: one read where it lies
// and one write on the tier it goes to.
func (s *Storage) moveExtent(vol int32, n int, to uint8) {
	v := &s.volumes[vol]
	size := int64(s.stores[v.store].spec.Extent)
	for _, write := range []bool{false, true} {
		i := s.take()
		s.ops[i] = op{offset: int64(n) * size, bytes: int32(min(size, 1<<30)), volume: vol, write: write, own: true}
		tier := v.tier[n]
		if write {
			tier = to
		}
		s.onTier(i, tier, false)
	}
}
