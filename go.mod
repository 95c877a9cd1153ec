module rushgate

go 1.26
