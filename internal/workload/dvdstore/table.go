package dvdstore

import "github.com/loadstone-perf/loadstone/internal/workload"

// of is the type of a base without length, money an amount in the shop's
// currency, and varchar a text of at most n characters.
func of(b workload.Base) workload.Type { return workload.Type{Base: b} }

func money() workload.Type {
	return workload.Type{Base: workload.Decimal, Precision: 12, Scale: 2}
}

func varchar(n int) workload.Type { return workload.Type{Base: workload.Varchar, Length: n} }

// col is a column that must not be null, null one that may be, and id the
// numbered key of a table.
func col(name string, t workload.Type) workload.Column {
	return workload.Column{Name: name, Type: t, NotNull: true}
}

func null(name string, t workload.Type) workload.Column {
	return workload.Column{Name: name, Type: t}
}

func id(name string) workload.Column {
	return workload.Column{Name: name, Type: of(workload.Int32), NotNull: true, Identity: true}
}

// words is a column of searched words, for which the kit uses text on
// PostgreSQL.
func words(name string) workload.Column {
	c := col(name, varchar(50))
	c.Own = map[string]string{"postgres": "text"}
	return c
}

// tables lists the schema in an order in which references point backwards.
func (g *generator) tables() []workload.Table {
	return []workload.Table{
		g.customersTable(), g.ordersTable(), g.orderlinesTable(), g.historyTable(),
		g.productsTable(), g.inventoryTable(), g.categoriesTable(), reorderTable(),
	}
}

func (g *generator) customersTable() workload.Table {
	return workload.Table{
		Name: "customers",
		Columns: []workload.Column{
			id("customerid"),
			col("firstname", varchar(50)), col("lastname", varchar(50)),
			col("address1", varchar(50)), null("address2", varchar(50)),
			col("city", varchar(50)), null("state", varchar(50)), null("zip", varchar(9)),
			col("country", varchar(50)), col("region", of(workload.Int16)),
			null("email", varchar(50)), null("phone", varchar(50)),
			col("creditcardtype", of(workload.Int32)), col("creditcard", varchar(50)),
			col("creditcardexpiration", varchar(50)),
			col("username", varchar(50)), col("password", varchar(50)),
			null("age", of(workload.Int16)), null("income", of(workload.Int32)), null("gender", varchar(1)),
		},
		PrimaryKey: []string{"customerid"},
		Indexes: []workload.Index{
			{Name: "ix_cust_username", Columns: []string{"username"}, Unique: true},
			{Name: "ix_cust_user_password", Columns: []string{"username", "password"}, Unique: true},
		},
		Rows: source(g.customers, customersPerBatch, g.customers, 20, personText, g.customer),
	}
}

func (g *generator) ordersTable() workload.Table {
	return workload.Table{
		Name: "orders",
		Columns: []workload.Column{
			id("orderid"), col("orderdate", of(workload.Date)), null("customerid", of(workload.Int32)),
			col("netamount", money()), col("tax", money()), col("totalamount", money()),
		},
		PrimaryKey: []string{"orderid"},
		Indexes:    []workload.Index{{Name: "ix_order_custid", Columns: []string{"customerid"}}},
		Foreign: []workload.ForeignKey{{
			Name: "fk_customerid", Columns: []string{"customerid"}, Table: "customers", OnDelete: "set null",
		}},
		Rows: source(g.orders(), ordersPerBatch, g.orders(), 6, 0, g.orderRow),
	}
}

func (g *generator) orderlinesTable() workload.Table {
	return workload.Table{
		Name: "orderlines",
		Columns: []workload.Column{
			col("orderlineid", of(workload.Int16)), col("orderid", of(workload.Int32)), col("prod_id", of(workload.Int32)),
			col("quantity", of(workload.Int16)), col("orderdate", of(workload.Date)),
		},
		Indexes: []workload.Index{
			{Name: "ix_orderlines_orderid", Columns: []string{"orderid", "orderlineid"}, Unique: true},
		},
		Foreign: []workload.ForeignKey{{
			Name: "fk_orderid", Columns: []string{"orderid"}, Table: "orders", OnDelete: "cascade",
		}},
		Rows: source(g.orders(), ordersPerBatch, 5*g.orders(), 5, 0, g.lineRows),
	}
}

func (g *generator) historyTable() workload.Table {
	return workload.Table{
		Name: "cust_hist",
		Columns: []workload.Column{
			col("customerid", of(workload.Int32)), col("orderid", of(workload.Int32)), col("prod_id", of(workload.Int32)),
		},
		Indexes: []workload.Index{{Name: "ix_cust_hist_customerid", Columns: []string{"customerid"}}},
		Foreign: []workload.ForeignKey{{
			Name: "fk_cust_hist_customerid", Columns: []string{"customerid"}, Table: "customers", OnDelete: "cascade",
		}},
		Rows: source(g.orders(), ordersPerBatch, 5*g.orders(), 3, 0, g.historyRows),
	}
}

func (g *generator) productsTable() workload.Table {
	return workload.Table{
		Name: "products",
		Columns: []workload.Column{
			id("prod_id"), col("category", of(workload.Int16)), words("title"), words("actor"),
			col("price", money()), null("special", of(workload.Int16)), col("common_prod_id", of(workload.Int32)),
		},
		PrimaryKey: []string{"prod_id"},
		Indexes: []workload.Index{
			{Name: "ix_prod_actor", Columns: []string{"actor"}, FullText: true},
			{Name: "ix_prod_title", Columns: []string{"title"}, FullText: true},
			{Name: "ix_prod_category", Columns: []string{"category"}},
			{Name: "ix_prod_special", Columns: []string{"special"}},
			{Name: "ix_prod_cat_special", Columns: []string{"category", "special"}},
		},
		Rows: source(g.products, productsPerBatch, g.products, 7, 128, g.product),
	}
}

func (g *generator) inventoryTable() workload.Table {
	return workload.Table{
		Name: "inventory",
		Columns: []workload.Column{
			col("prod_id", of(workload.Int32)), col("quan_in_stock", of(workload.Int32)), col("sales", of(workload.Int32)),
		},
		PrimaryKey: []string{"prod_id"},
		FillFactor: 85, // every purchase updates its rows in place
		Rows:       source(g.products, productsPerBatch, g.products, 3, 0, g.inventory),
	}
}

func (g *generator) categoriesTable() workload.Table {
	n := int64(len(g.words.category))
	return workload.Table{
		Name:       "categories",
		Columns:    []workload.Column{id("category"), col("categoryname", varchar(50))},
		PrimaryKey: []string{"category"},
		Rows:       source(n, n, n, 2, 0, g.categoryRow),
	}
}

func reorderTable() workload.Table {
	return workload.Table{
		Name: "reorder",
		Columns: []workload.Column{
			col("prod_id", of(workload.Int32)), col("date_low", of(workload.Date)), col("quan_low", of(workload.Int32)),
			null("date_reordered", of(workload.Date)), null("quan_reordered", of(workload.Int32)), null("date_expected", of(workload.Date)),
		},
		Rows: workload.Source{Fill: func(int64, func([]workload.Value) error) error { return nil }},
	}
}
