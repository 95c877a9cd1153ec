package mysql_test
import ("testing";"rushgate/ledger/ledgertest")
func TestZZ(t *testing.T){
 s:=server.Server(t)
 a,_:=s.SQL("","show global status where variable_name in ('Questions','Connections','Com_insert','Com_select','Com_commit','Com_update','Com_delete','Com_begin','Com_set_option','Com_rollback')")
 ledgertest.Run(t,factory(t))
 b,_:=s.SQL("","show global status where variable_name in ('Questions','Connections','Com_insert','Com_select','Com_commit','Com_update','Com_delete','Com_begin','Com_set_option','Com_rollback')")
 t.Log(a); t.Log(b)
}
