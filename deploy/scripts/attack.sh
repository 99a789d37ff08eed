#!/usr/bin/env bash
# One address abuses the shop while shoppers at other addresses log in, watch, buy and read their orders: prints the p99 of
# each under each kind of abuse, beside the p99 while the address sends the same number of GET /api/v1/time. The median
# ratio of three rounds, or of nine if that of three is too high, must stay below 3. Then idle sockets, as many as the
# descriptors allow. Needs an idle machine and takes five minutes. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/services.sh run deploy/scripts/go-test.sh --log attack -tags abuse \
  -run '^Test(ShoppersAreServedDuringAbuse|IdleSocketsKeepNobodyOut)$' ./app/test/e2e
