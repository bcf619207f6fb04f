export const USAGE = `Usage: npm run gateway -- COMMAND [OPTIONS]

  keys create            make a key; it is shown once
      --name NAME        what it is for (default: cli)
  keys list              all keys, the newest first
  keys show ID
  keys balance ID        what is left of its own limits and budget
  keys update ID         change what the options name; known everywhere within a second
  keys rotate ID         make another secret for a key
      --grace SECONDS    how long the old one works on (default: 0)
  keys webhook-secret ID make a secret to sign a key's webhooks with, or another one
      --grace SECONDS    how long they are signed with the old one as well (default: 0)
  keys revoke ID         revoke a key for good; it is refused everywhere within a second

    what a key may do (keys create, keys update):
      --team TEAM
      --owner WHO        whom to ask about it
      --models LIST      model patterns it may use, such as gpt-*,claude-* (default: all)
      --endpoints LIST   responses, messages, chat, images, speech, transcriptions (default: all)
      --expires-at TIME  ISO 8601, such as 2027-01-31T00:00:00Z (default: never)
      --label NAME=VALUE may be repeated
      --priority PRIORITY  low, normal or high: which requests are refused first under overload (default: normal)
      --disable, --enable
      --webhook-url URL  where the ends of its jobs are reported that go on without their caller

  teams create NAME      make a team; its limits and budget hold for all its keys together
  teams list
  teams show NAME
  teams balance NAME     what is left of its limits and budget
  teams update NAME
  teams delete NAME      only once no working key names it

    what keys and teams may use (create and update):
      --limit NAME=COUNT requestsPerMinute, tokensPerMinute, imagesPerMinute, audioSecondsPerMinute or
                         concurrentRequests; may be repeated. For keys also concurrentJobs, jobWeight (1 to 100) and
                         jobPriority (0 first to 9 last; default 5) and keptResultBytes
      --model-limit PATTERN:NAME=COUNT
                         such a limit per minute for some models only: gpt-*:tokensPerMinute=1000; may be repeated
      --budget USD       what they may spend
      --period PERIOD    in a day, week, month or total
      --allow-unpriced   models without a price may be used in spite of the budget
      --remove MEMBER    update only: removes what is set, such as budget, models, limits.tokensPerMinute or
                         limits.models.gpt-*; may be repeated

  usage                  what was used, in the last 30 days
      --from TIME, --to TIME    such as 2026-11-01 or 2026-11-01T08:00:00Z
      --group-by LIST    any of hour, day, keyId, team, model, channel, endpoint, outcome (default: model)
      --key ID, --team TEAM, --model MODEL, --channel CHANNEL, --endpoint ENDPOINT, --outcome OUTCOME
  usage records          every single record, as NDJSON
      --format csv       as CSV; --from, --to and the filters as above
  requests list          requests that have ended, the newest first; --from, --to and the filters as above
      --id TEXT          a part of a request's id
      --count NUMBER     how many, at most 200 (default: 50)
  requests show ID       one: where its time went, its attempts, what it cost and why
  attention              what needs a person now
  webhooks list          the latest webhooks, and how sending them went
      --key ID
      --status STATUS    pending, delivered or failed
      --count NUMBER     how many, at most 200 (default: 50)
  webhooks show ID       one with its attempts
  webhooks replay ID     send it again
  channels               the channels of the configuration, and what of them rests
  channels rest NAME     send requests elsewhere, for as long as another channel can take them
      --account NAME, --model MODEL   only one of its accounts, or one model on it
      --seconds NUMBER   how long (default: until it is woken)
      --reason TEXT      shown to others
  channels test NAME     send it the smallest request for text, also if it rests
      --key ID           the key under which it counts
      --model MODEL      the callers' name of a model (default: its first text model)
  channels wake NAME     end its rests, also those that the gateway began
      --account NAME, --model MODEL   only these
  queues                 how many jobs of each queue are where
  jobs list              jobs that failed
      --status STATUS    queued, in_progress, completed or failed (default)
      --count NUMBER     how many, at most 200 (default: 50)
  jobs show ID           one: its history, its webhook, what is kept of its result
  jobs cancel ID         stop a job that runs; one that waits is not begun
  jobs requeue ID        queue a failed job again that was certainly not done
  audit                  the latest changes of keys, teams and rests of channels
      --count NUMBER     how many, at most 200 (default: 50)

  --json                 print JSON instead of text
  --help                 print this

The admin service is that of the \`npm start\` which runs with the data folder (GATEWAY_DATA_DIR, default: .data), and so is
its token. For another one set ADMIN_URL and GATEWAY_ADMIN_TOKEN; with the token alone: http://127.0.0.1:8090 (ADMIN_PORT).`;
