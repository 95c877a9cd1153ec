package postgres_test
import ("testing";"time";"context";"rushgate/ledger/postgres")
func TestTimes(t *testing.T){
 t0:=time.Now()
 s:=newSchema(t); t.Log("schema",time.Since(t0))
 for range 3 {
 t0=time.Now()
 l,err:=postgres.Open(context.Background(),s.url,postgres.Options{}); if err!=nil{t.Fatal(err)}
 t.Log("open",time.Since(t0)); t0=time.Now()
 l.Sales(t.Context()); t.Log("sales",time.Since(t0)); t0=time.Now()
 l.Sales(t.Context()); t.Log("sales",time.Since(t0)); t0=time.Now()
 l.Close();t.Log("close",time.Since(t0))
 }
 t0=time.Now()
 t.Cleanup(func(){t.Log("test",time.Since(t0))})
}
