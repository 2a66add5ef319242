package orderentry

import (
	"fmt"
	"slices"
)

// Shown is what the terminal whose input is in shows after a transaction.
func Shown(in any) string {
	e := in.(*entry)
	return fmt.Sprint(e.customer, e.order, e.discount, e.tax, e.total, e.balance, e.delivered, e.low, e.lines)
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
