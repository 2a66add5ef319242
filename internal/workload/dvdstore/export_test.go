package dvdstore

import "fmt"

// Shown is what the user whose cart is in sees after a transaction.
func Shown(in any) string {
	o := in.(*cart)
	return fmt.Sprint("customer ", o.customer, " found ", o.found, " net ", o.net, " order ", o.order)
}

// Fill puts pairs of product and quantity into the cart in, at a price of one
// cent each.
func Fill(in any, customer int64, pairs ...int64) {
	o := in.(*cart)
	o.customer, o.lines, o.net = customer, len(pairs)/2, 0
	for i := range o.lines {
		o.product[i], o.quantity[i] = pairs[2*i], pairs[2*i+1]
		o.net += o.quantity[i]
	}
}

// Order is the number of the order that the cart in became, 0 where it did not.
func Order(in any) int64 { return in.(*cart).order }
