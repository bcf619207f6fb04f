import { EndpointScope } from '@gateway/contracts/identity';

export const USAGE = `Usage: npm run gateway -- COMMAND [OPTIONS]

  keys create            create a key; its secret is shown only once
      --name NAME        what the key is for (default: cli)
  keys list              list all keys, newest first
  keys show ID
  keys balance ID        show what remains of its own limits and budget
  keys update ID         change the given settings; takes effect everywhere within a second
  keys rotate ID         issue a new secret for a key
      --grace SECONDS    how long the old secret keeps working (default: 0)
  keys webhook-secret ID create or rotate the secret that signs a key's webhooks
      --grace SECONDS    how long they are also signed with the old secret (default: 0)
  keys revoke ID         revoke a key permanently; it is refused everywhere within a second

    what a key may do (keys create, keys update):
      --team TEAM
      --owner WHO        who to contact about it
      --models LIST      model patterns it may use, such as gpt-*,claude-* (default: all)
      --endpoints LIST   ${EndpointScope.options.join(', ')}
                         (default: all)
      --expires-at TIME  ISO 8601, such as 2027-01-31T00:00:00Z (default: never)
      --label NAME=VALUE repeatable
      --priority PRIORITY  low, normal or high: low is refused first under overload (default: normal)
      --disable, --enable
      --webhook-url URL  where to report that its detached jobs have ended

  teams create NAME      create a team; all its keys share its limits and budget
  teams list
  teams show NAME
  teams balance NAME     show what remains of its limits and budget
  teams update NAME
  teams delete NAME      only possible when no active key belongs to it

    what keys and teams may use (create and update):
      --limit NAME=COUNT requestsPerMinute, tokensPerMinute, imagesPerMinute, audioSecondsPerMinute or
                         concurrentRequests; repeatable. For keys also concurrentJobs, jobWeight (1 to 100),
                         jobPriority (0 first to 9 last; default 5) and keptResultBytes
      --model-limit PATTERN:NAME=COUNT
                         a per-minute limit for some models only: gpt-*:tokensPerMinute=1000; repeatable
      --budget USD       how much they may spend
      --period PERIOD    per day, week or month, or total
      --allow-unpriced   allow models without a price despite the budget
      --remove MEMBER    update only: removes a setting, such as budget, models, limits.tokensPerMinute or
                         limits.models.gpt-*; repeatable

  people invite EMAIL    invite a person, who sets a password by a link to sign in to the console
      --name NAME        (default: the e-mail address)
      --role ROLE        admin (default), viewer, team-lead or team-member
      --teams LIST       of a team-lead or team-member
      --send-email       also send the link by e-mail; also of people link
  people list
  people show ID
  people update ID       --name, --role, --teams, --disable, --enable
  people link ID         create another link, to reset a password or for an invitation; earlier links stop working
  people sign-out ID     end all sessions of a person
  people delete ID

  usage                  show usage, by default of the last 30 days
      --from TIME, --to TIME    such as 2026-11-01 or 2026-11-01T08:00:00Z
      --time-zone ZONE   of dates and days, such as Europe/Berlin (default: UTC)
      --group-by LIST    any of minute, fiveMinutes, hour, day, keyId, team, model, channel, endpoint, outcome, errorCode, status
                         (default: model)
      --key ID, --team TEAM, --model MODEL, --channel CHANNEL, --endpoint ENDPOINT, --outcome OUTCOME
      --error-code CODE  such as upstream_timeout
      --failed           only requests that did not end well
      --owner OWNER      of keys of this owner
      --end-user USER, --session SESSION, --label LABEL    as their callers named them
  usage records          print every record as NDJSON
      --format csv       as CSV; --from, --to, --time-zone and the filters as above
  requests list          list finished requests, newest first; --from, --to, --time-zone and the filters as above
      --id TEXT          part of a request id
      --count NUMBER     how many, at most 200 (default: 50)
  requests show ID       show where a request's time went, its attempts, and how its cost came about
  content delete         delete what the content log has of a key or of an end user; requests of the last minute may be
                         written after that
      --key ID, --end-user USER    one of them
  attention              show what needs attention now
  webhooks list          list the latest webhooks with their delivery status
      --key ID
      --status STATUS    pending, delivered or failed
      --count NUMBER     how many, at most 200 (default: 50)
  webhooks show ID       show a webhook with its attempts
  webhooks replay ID     send a webhook again
  channels               list the configured channels and what is resting in them
  channels rest NAME     send requests elsewhere for as long as another channel can take them
      --account NAME, --model MODEL   only one of its accounts, or one model on it
      --seconds NUMBER   how long (default: until woken)
      --reason TEXT      shown to others
  channels test NAME     send a minimal text request, even if the channel is resting
      --key ID           the key it is charged to (default: the only key there is)
      --model MODEL      a model, by the name callers use (default: the channel's first text model)
  channels wake NAME     end its rests, including those that the gateway started
      --account NAME, --model MODEL   only these
  queues                 show how many jobs are in each queue, by state
  jobs list              list failed jobs
      --status STATUS    queued, in_progress, completed or failed (default)
      --count NUMBER     how many, at most 200 (default: 50)
  jobs show ID           show a job's history, its webhook, and what is stored of its result
  jobs cancel ID         stop a running job, or drop a waiting one
  jobs requeue ID        requeue a failed job, if it is certain that its work was not done
  audit                  list the latest changes to keys, teams and rests of channels
      --count NUMBER     how many, at most 200 (default: 50)

  configuration export   print the configuration, without secrets
  configuration import FILE
                         make a file the configuration, where that is in the database; its secrets are sealed
      --reason TEXT
  configuration try FILE send one text request by a file, which stays a draft
      --model MODEL      a text model, by the name callers use
      --input TEXT       what it is asked (default: to answer with OK)
      --key ID           the key it is charged to (default: the only key there is)
  configuration history  list its latest revisions
      --count NUMBER     how many, at most 200 (default: 50)
  configuration restore NUMBER
                         go back to the text of a revision, as a new one
      --reason TEXT

  capacity --rps NUMBER  show what a load needs, and what gives way first; asks no service. capacity --help has its options
  init                   connect providers and model servers, and write a configuration; asks at a terminal
      --provider NAME    with its key from the environment, such as openai; --provider NAME=URL for another address; repeatable
      --deployment NAME  of azure-openai or foundry, which list none; repeatable
      --model NAME       of bedrock, anthropic-aws or vertex, which list none: it is asked for a few tokens; repeatable; PROVIDER=NAME where there are several
      --region, --project, --location, --resource, --workspace-id
                         where at its cloud a provider is; without a key in the environment the machine's own credentials are used
      --server URL       a server with OpenAI's protocol, such as Ollama or vLLM; repeatable
      --server-key NAME  the variable with its key, where it takes one (default: such as VLLM_API_KEY)
      --team NAME        a first team with a key, made where the gateway runs already; else the commands for later are shown
      --budget USD       what that team may spend in a month
      --local            those on the usual ports of this machine
      --output FILE      where to (default: gateway.yaml); --replace overwrites it
  check [FILE]           check a configuration (default: gateway.yaml) and ask each of its providers; asks no service
  import litellm FILE    write a configuration from LiteLLM's config.yaml, and say what is not the same; asks no service
      --output FILE      where to (default: gateway.yaml); --replace overwrites it
      --from URL         with or without FILE: make the teams and keys of a running LiteLLM, with new secrets
      --token TOKEN      its master key (default: LITELLM_MASTER_KEY)
  backup FILE            copy the data folder's database to a new file, also while the gateway runs; asks no service
  restore FILE           put a backup in its place; the gateway must not run

  --json                 print JSON instead of text
  --help                 print this

The admin service and its token are those of the \`npm start\` that is running with the data folder (GATEWAY_DATA_DIR,
default: .data). To use another one, set ADMIN_URL and GATEWAY_ADMIN_TOKEN; with the token alone, the address is
http://127.0.0.1:8090 (ADMIN_PORT).`;
