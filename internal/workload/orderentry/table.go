package orderentry

import "github.com/loadstone-perf/loadstone/internal/workload"

// The types of columns (clause 1.3). Numbers that are counted with are whole;
// amounts are decimals of two places, taxes and discounts of four.
func whole(name string) workload.Column { return col(name, workload.Type{Base: workload.Int32}) }
func small(name string) workload.Column { return col(name, workload.Type{Base: workload.Int16}) }
func rate(name string) workload.Column  { return decimal(name, 4, 4) }
func stamp(name string) workload.Column { return col(name, workload.Type{Base: workload.Timestamp}) }

func decimal(name string, precision, scale int) workload.Column {
	return col(name, workload.Type{Base: workload.Decimal, Precision: precision, Scale: scale})
}

func varchar(name string, n int) workload.Column {
	return col(name, workload.Type{Base: workload.Varchar, Length: n})
}

func char(name string, n int) workload.Column {
	return col(name, workload.Type{Base: workload.Char, Length: n})
}

func col(name string, t workload.Type) workload.Column {
	return workload.Column{Name: name, Type: t, NotNull: true}
}

func null(c workload.Column) workload.Column {
	c.NotNull = false
	return c
}

// address is the five columns of an address.
func address(prefix string) []workload.Column {
	return []workload.Column{
		varchar(prefix+"street_1", 20), varchar(prefix+"street_2", 20), varchar(prefix+"city", 20),
		char(prefix+"state", 2), char(prefix+"zip", 9),
	}
}

// join is parts one after the other.
func join(parts ...[]workload.Column) []workload.Column {
	var out []workload.Column
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// tables lists the schema. There are no foreign keys: see the guide. Fill
// factors leave room for a row's next version beside it, so that an update
// touches no index; those of warehouse and district, the hottest rows, spread
// them over pages.
func (g *generator) tables() []workload.Table {
	return []workload.Table{
		g.warehouseTable(), g.districtTable(), g.customerTable(), g.historyTable(), g.itemTable(),
		g.stockTable(), g.orderTable(), g.newOrderTable(), g.orderLineTable(),
	}
}

func (g *generator) warehouseTable() workload.Table {
	return workload.Table{
		Name: "warehouse",
		Columns: join(
			[]workload.Column{whole("w_id"), varchar("w_name", 10)}, address("w_"),
			[]workload.Column{rate("w_tax"), decimal("w_ytd", 14, 2)},
		),
		PrimaryKey: []string{"w_id"},
		FillFactor: 10,
		Rows:       g.source((g.warehouses+warehousesPerBatch-1)/warehousesPerBatch, g.warehouses, warehouseRows),
	}
}

func (g *generator) districtTable() workload.Table {
	return workload.Table{
		Name: "district",
		Columns: join(
			[]workload.Column{small("d_id"), whole("d_w_id"), varchar("d_name", 10)}, address("d_"),
			[]workload.Column{rate("d_tax"), decimal("d_ytd", 14, 2), whole("d_next_o_id")},
		),
		PrimaryKey: []string{"d_w_id", "d_id"},
		FillFactor: 10,
		Rows:       g.source((g.warehouses+warehousesPerBatch-1)/warehousesPerBatch, g.districts(), districtRows),
	}
}

func (g *generator) customerTable() workload.Table {
	return workload.Table{
		Name: "customer",
		Columns: join(
			[]workload.Column{
				whole("c_id"), small("c_d_id"), whole("c_w_id"),
				varchar("c_first", 16), char("c_middle", 2), varchar("c_last", 16),
			},
			address("c_"),
			[]workload.Column{
				char("c_phone", 16), stamp("c_since"), char("c_credit", 2),
				decimal("c_credit_lim", 12, 2), rate("c_discount"), decimal("c_balance", 14, 2),
				decimal("c_ytd_payment", 14, 2), whole("c_payment_cnt"), whole("c_delivery_cnt"), varchar("c_data", 500),
			},
		),
		PrimaryKey: []string{"c_w_id", "c_d_id", "c_id"},
		Indexes: []workload.Index{
			{Name: "customer_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first", "c_id"}},
		},
		FillFactor: 85,
		Rows:       g.source(g.districts(), customers*g.districts(), customerRows),
	}
}

func (g *generator) historyTable() workload.Table {
	return workload.Table{
		Name: "history",
		Columns: []workload.Column{
			whole("h_c_id"), small("h_c_d_id"), whole("h_c_w_id"), small("h_d_id"), whole("h_w_id"),
			stamp("h_date"), decimal("h_amount", 6, 2), varchar("h_data", 24),
		},
		Rows: g.source(g.districts(), customers*g.districts(), historyRows),
	}
}

func (g *generator) itemTable() workload.Table {
	return workload.Table{
		Name: "item",
		Columns: []workload.Column{
			whole("i_id"), whole("i_im_id"), varchar("i_name", 24), decimal("i_price", 5, 2), varchar("i_data", 50),
		},
		PrimaryKey: []string{"i_id"},
		Rows:       g.source(items/itemsPerBatch, items, itemRows),
	}
}

func (g *generator) stockTable() workload.Table {
	columns := []workload.Column{whole("s_i_id"), whole("s_w_id"), small("s_quantity")}
	for d := range districts {
		columns = append(columns, char("s_dist_"+string([]byte{'0' + byte((d+1)/10), '0' + byte((d+1)%10)}), 24))
	}
	return workload.Table{
		Name: "stock",
		Columns: append(columns,
			whole("s_ytd"), whole("s_order_cnt"), whole("s_remote_cnt"), varchar("s_data", 50)),
		PrimaryKey: []string{"s_w_id", "s_i_id"},
		FillFactor: 90,
		Rows:       g.source(items/itemsPerBatch*g.warehouses, items*g.warehouses, stockRows),
	}
}

func (g *generator) orderTable() workload.Table {
	return workload.Table{
		Name: "orders",
		Columns: []workload.Column{
			whole("o_id"), small("o_d_id"), whole("o_w_id"), whole("o_c_id"), stamp("o_entry_d"),
			null(small("o_carrier_id")), small("o_ol_cnt"), small("o_all_local"),
		},
		PrimaryKey: []string{"o_w_id", "o_d_id", "o_id"},
		Indexes: []workload.Index{
			{Name: "orders_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}},
		},
		FillFactor: 90,
		Rows:       g.source(g.districts(), customers*g.districts(), orderRows),
	}
}

func (g *generator) newOrderTable() workload.Table {
	return workload.Table{
		Name:       "new_order",
		Columns:    []workload.Column{whole("no_o_id"), small("no_d_id"), whole("no_w_id")},
		PrimaryKey: []string{"no_w_id", "no_d_id", "no_o_id"},
		Rows:       g.source(g.districts(), undelivered*g.districts(), newOrderRows),
	}
}

func (g *generator) orderLineTable() workload.Table {
	return workload.Table{
		Name: "order_line",
		Columns: []workload.Column{
			whole("ol_o_id"), small("ol_d_id"), whole("ol_w_id"), small("ol_number"), whole("ol_i_id"),
			whole("ol_supply_w_id"), null(stamp("ol_delivery_d")), small("ol_quantity"),
			decimal("ol_amount", 6, 2), char("ol_dist_info", 24),
		},
		PrimaryKey: []string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number"},
		FillFactor: 90,
		Rows:       g.source(g.districts(), 10*customers*g.districts(), orderLineRows),
	}
}
