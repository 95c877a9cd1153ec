package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rushgate"
)

// saleBody is the body that makes a sale.
type saleBody struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	OpensAt  *instant       `json:"opens_at"`
	ClosesAt *instant       `json:"closes_at"`
	PerUser  *int64         `json:"per_user"`
	Hold     *span          `json:"hold"`
	Ack      rushgate.Ack   `json:"ack"`
	Shards   *int64         `json:"shards"`
	Items    []saleBodyItem `json:"items"`
}

type saleBodyItem struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Stock *int64 `json:"stock"`
}

// What a sale has when the body leaves it out: one per person, and a quarter
// of an hour to pay. (The service knows the rest.)
const (
	defaultPerUser = 1
	defaultHold    = 15 * time.Minute
)

func (b *saleBody) sale() (rushgate.Sale, error) {
	sale := rushgate.Sale{ID: b.ID, Name: b.Name, Ack: b.Ack, PerUser: defaultPerUser, Hold: defaultHold}
	if b.PerUser != nil {
		sale.PerUser = *b.PerUser
	}
	if b.Hold != nil {
		sale.Hold = time.Duration(*b.Hold)
	}
	if b.OpensAt != nil {
		sale.OpensAt = time.Time(*b.OpensAt)
	}
	if b.ClosesAt != nil {
		sale.ClosesAt = time.Time(*b.ClosesAt)
	}
	if b.Shards != nil {
		if *b.Shards < 1 || *b.Shards > rushgate.MaxShards {
			return sale, invalid("shards", "must be 1 to %d", rushgate.MaxShards)
		}
		sale.Shards = int(*b.Shards)
	}
	if len(b.Items) > rushgate.MaxItems {
		return sale, invalid("items", "must have 1 to %d items", rushgate.MaxItems)
	}
	for i, it := range b.Items {
		if it.Stock == nil {
			return sale, invalid(fmt.Sprintf("items[%d].stock", i), "must be given: the units that there are; 0 to add them later")
		}
		sale.Items = append(sale.Items, rushgate.Item{ID: it.ID, Name: it.Name, Stock: *it.Stock})
	}
	return sale, nil
}

// createSale answers POST /v1/sales.
func (s *Server) createSale(c *call) (int, error) {
	var body saleBody
	if err := c.decode(&body, MaxSaleBody); err != nil {
		return 0, err
	}
	sale, err := body.sale()
	if err != nil {
		return 0, err
	}
	view, err := c.service.CreateSale(c.r.Context(), sale)
	if err != nil {
		return 0, err
	}
	c.w.Header()["Location"] = []string{"/v1/sales/" + url.PathEscape(view.ID)}
	return c.sendValue(http.StatusCreated, showSale(view))
}

// changeBody is the body that changes a sale; null clears a moment.
type changeBody struct {
	Name     *string           `json:"name"`
	OpensAt  optional[instant] `json:"opens_at"`
	ClosesAt optional[instant] `json:"closes_at"`
	PerUser  *int64            `json:"per_user"`
	Hold     *span             `json:"hold"`
}

// changeSale answers PATCH /v1/sales/{sale}.
func (s *Server) changeSale(c *call) (int, error) {
	var body changeBody
	if err := c.decode(&body, MaxBody); err != nil {
		return 0, err
	}
	return c.sendSale(c.service.ChangeSale(c.r.Context(), c.r.PathValue("sale"), rushgate.SaleChange{
		Name: body.Name, OpensAt: (*time.Time)(body.OpensAt.ptr()), ClosesAt: (*time.Time)(body.ClosesAt.ptr()),
		PerUser: body.PerUser, Hold: (*time.Duration)(body.Hold)}))
}

// showSale answers GET /v1/sales/{sale}: for everybody, and for the caches
// between, which may keep it for a second.
func (s *Server) showSale(c *call) (int, error) {
	view, err := c.service.Sale(c.r.Context(), c.r.PathValue("sale"))
	if err != nil {
		return 0, err
	}
	return c.sendCacheable(showSale(view))
}

// listSales answers GET /v1/sales, by id.
func (s *Server) listSales(c *call) (int, error) {
	query, err := c.query("limit", "cursor")
	if err != nil {
		return 0, err
	}
	limit, err := pageSize(query, maxPage)
	if err != nil {
		return 0, err
	}
	views, err := c.service.Sales(c.r.Context())
	if err != nil {
		return 0, err
	}
	page := saleList{Sales: []saleDocument{}}
	after, items := query.Get("cursor"), 0
	for i := range views {
		if views[i].ID <= after {
			continue
		}
		if len(page.Sales) == limit || items > maxListedItems {
			page.Next = &page.Sales[len(page.Sales)-1].ID
			break
		}
		items += len(views[i].Items)
		page.Sales = append(page.Sales, showSale(&views[i]))
	}
	return c.sendCacheable(page)
}

// maxListedItems ends a page of sales early when they have very many items.
const maxListedItems = 10_000

type saleList struct {
	Sales []saleDocument `json:"sales"`
	Next  *string        `json:"next_cursor"`
}

// sendCacheable answers with a document that has an ETag, or with 304 to who
// has it already.
func (c *call) sendCacheable(v any) (int, error) {
	if err := c.encode(v); err != nil {
		return 0, err
	}
	digest := sha256.Sum256(c.out)
	tag := `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`
	h := c.w.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = []string{"public, max-age=1"}
	if matches(c.r.Header.Values("If-None-Match"), tag) {
		c.w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, nil
	}
	return c.send(http.StatusOK)
}

// matches compares weakly, as If-None-Match asks (RFC 9110, section 13.1.2).
func matches(ifNoneMatch []string, tag string) bool {
	for _, line := range ifNoneMatch {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
