package orderentry

import (
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Shown is what the terminal whose input is in shows after a transaction.
func Shown(in any) string {
	e := in.(*entry)
	return fmt.Sprint(e.customer, e.order, e.discount, e.tax, e.total, e.balance, e.delivered, e.low, e.lines)
}

// Written is the row that proves a committed New-Order or Payment, as
// acknowledged to the terminal whose input is in, and "" for other
// transactions. The date in it is no other transaction's.
func Written(transaction string, in any) string {
	e := in.(*entry)
	switch transaction {
	case newOrderName:
		return fmt.Sprintln("order", e.warehouse, e.district, e.order, e.customer, e.at, len(e.lines))
	case paymentName:
		return fmt.Sprintln("payment", e.customerWarehouse, e.customerDistrict, e.customer, e.warehouse, e.district, e.at, e.amount)
	}
	return ""
}

// Entered is the order that the New-Order or Order-Status whose input is in
// entered or showed.
func Entered(in any) int64 { return in.(*entry).order }

// Amounts are those of the lines of the order in in, in hundredths.
func Amounts(in any) (out []int64) {
	for _, l := range in.(*entry).lines {
		out = append(out, l.amount)
	}
	return out
}

// Delivered is how many orders the Delivery whose input is in delivered.
func Delivered(in any) int64 { return in.(*entry).delivered }

// Status is an Order-Status of a customer.
func Status(warehouse, district, customer int64) any {
	return &entry{
		at: 1, warehouse: warehouse, district: district, customer: customer,
		customerWarehouse: warehouse, customerDistrict: district,
	}
}

// PaymentOf is a payment of a customer at the own district.
func PaymentOf(warehouse, district, customer, cents int64) any {
	return &entry{
		at: 1, warehouse: warehouse, district: district, customer: customer,
		customerWarehouse: warehouse, customerDistrict: district, amount: cents,
	}
}

// Unknown says whether the order in in names an unknown item.
func Unknown(in any) bool { return in.(*entry).unknown }

// Order is an order of one piece of each item, all from its own warehouse.
func Order(warehouse, district, customer int64, list ...int64) any {
	e := &entry{at: 1, warehouse: warehouse, district: district, customer: customer}
	slices.Sort(list)
	for _, item := range list {
		e.lines = append(e.lines, line{item: item, supply: warehouse, quantity: 1})
	}
	return e
}

// Payment is a payment by customer 1 of district 1 at the terminal's warehouse.
func Payment(warehouse, district int64) any {
	return &entry{
		at: 1, warehouse: warehouse, district: district, customer: 1,
		customerWarehouse: warehouse, customerDistrict: 1, amount: 1_00,
	}
}

// Delivery is a delivery for a warehouse.
func Delivery(warehouse int64) any { return &entry{at: 1, warehouse: warehouse, carrier: 3} }

// ItemDraws are n items as orders have them.
func ItemDraws(n int) []int64 {
	s, of := rng.At(5), newInputs(7).item
	out := make([]int64, n)
	for i := range out {
		out[i] = of.draw(&s)
	}
	return out
}

// HotItems is the part of pages that is hot, and the part of accesses it gets.
func HotItems() (pages, accesses float64) { return hotItemPages, hotItemAccesses }
