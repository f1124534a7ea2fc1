module rookery/peers/quamina

go 1.22.0

require quamina.net/go/quamina/v2 v2.0.2
