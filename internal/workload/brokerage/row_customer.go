package brokerage

import "strconv"

func customerRows(m *maker, batch int64) error {
	return unitOf(batch, unitSize, func(n int64) error {
		c := m.customer(n + 1)
		m.draws("customer row", c.id)
		m.int(c.id)
		m.field(appendTaxID(m.buf, c.id))
		m.word("ACTV")
		m.field(m.appendLast(m.buf, c.id))
		m.field(m.appendFirst(m.buf, c.id))
		m.field(append(m.buf, 'A'+byte(m.s.IntN(26))))
		m.word([2]string{"F", "M"}[m.s.IntN(2)])
		m.int(c.tier)
		m.day(m.s.Between(-14_610, 6_000)) // born 1930 to 1986
		m.int(customerAddress(c.id))
		for range 3 {
			m.word("01")
			m.field(appendDigits(m.buf, m.s.Between(200, 999), 3))
			m.field(appendDigits(m.buf, m.s.IntN(10_000_000), 7))
			if m.s.IntN(4) == 0 {
				m.field(appendDigits(m.buf, m.s.IntN(1_000), 3))
			} else {
				m.null()
			}
		}
		m.email(c.id, "post.example")
		m.email(c.id, "mail.example")
		return m.end()
	})
}

func (m *maker) email(c int64, domain string) {
	b := append(m.appendFirst(m.buf, c), '.')
	b = append(strconv.AppendInt(b, c, 10), '@')
	m.field(append(b, domain...))
}

func customerTaxRows(m *maker, batch int64) error {
	return unitOf(batch, unitSize, func(n int64) error {
		c := m.customer(n + 1)
		for _, tax := range c.tax {
			m.begin()
			m.field(appendTax(m.buf, tax))
			m.int(c.id)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

func watchListRows(m *maker, batch int64) error {
	return unitOf(batch, unitSize, func(n int64) error {
		m.begin()
		m.int(n + 1)
		m.int(n + 1)
		return m.end()
	})
}

func watchItemRows(m *maker, batch int64) error {
	return unitOf(batch, unitSize, func(n int64) error {
		m.draws("watch_item", n)
		s := m.s
		from, step := m.walk(&s)
		for k := range s.Between(leastWatched, mostWatched) {
			m.begin()
			m.int(n + 1)
			m.symbol((from + k*step) % m.securities())
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachAccount calls f with the accounts of a load unit.
func (m *maker) eachAccount(batch int64, f func(c *customer, a *account) error) error {
	return unitOf(batch, unitSize, func(n int64) error {
		c := m.customer(n + 1)
		for k := range c.accounts {
			a := m.account(accountID(c.id, k))
			if err := f(&c, &a); err != nil {
				return err
			}
		}
		return nil
	})
}

func accountRows(m *maker, batch int64) error {
	return m.eachAccount(batch, func(c *customer, a *account) error {
		m.begin()
		m.int(a.id)
		m.int(a.broker)
		m.int(c.id)
		b := append(m.appendFirst(m.buf, c.id), " account "...)
		m.field(strconv.AppendInt(b, (a.id-1)%accountSlots+1, 10))
		m.int(a.taxStatus)
		m.fixed(a.balance)
		return m.end()
	})
}

// permissionRows makes who may trade for an account: its owner, and guests.
func permissionRows(m *maker, batch int64) error {
	return m.eachAccount(batch, func(c *customer, a *account) error {
		if err := m.permission(a.id, c.id, "0000"); err != nil {
			return err
		}
		for i := range a.guests {
			if err := m.permission(a.id, a.guest[i], [2]string{"0001", "0011"}[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *maker) permission(account, who int64, acl string) error {
	m.begin()
	m.int(account)
	m.word(acl)
	m.field(appendTaxID(m.buf, who))
	m.field(m.appendLast(m.buf, who))
	m.field(m.appendFirst(m.buf, who))
	return m.end()
}

// brokerRows makes brokers with what they earned by the loaded trades.
func brokerRows(m *maker, batch int64) error {
	var trades, earned [brokersPerUnit]int64
	for group := batch * groups; group < (batch+1)*groups; group++ {
		err := m.history(group).each(func(d *deal) error {
			b := (d.broker - 1) % brokersPerUnit
			trades[b]++
			earned[b] += d.commission
			return nil
		})
		if err != nil {
			return err
		}
	}
	return unitOf(batch, brokersPerUnit, func(n int64) error {
		m.begin()
		m.int(n + 1)
		m.word("ACTV")
		m.field(m.appendBroker(m.buf, n+1))
		m.int(trades[n%brokersPerUnit])
		m.fixed(earned[n%brokersPerUnit])
		return m.end()
	})
}
