// Package trial lets a crowd in on one way to sell, and counts.
//
// A way goes through up to five sales of the same stock and the same buyers:
//
//	rush      nothing goes wrong: who oversells here oversells every evening
//	admin     an operator adds stock, and later clears it, in the middle
//	pause     sellers in processes of their own, which stand still for a while (SIGSTOP)
//	crash     sellers in processes of their own, which are killed (SIGKILL) and started again
//	failover  the Redis in which they sell is killed, and a replica that is a little behind takes over
//
// Every tenth buyer clicks twice at the same moment. The crowd remembers what
// every buyer heard, and when; afterwards the books of the way are held against
// that (see Books). The crowd is the witness: no way is asked whether it did well.
package trial
