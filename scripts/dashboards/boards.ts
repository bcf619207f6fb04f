import type { Board } from './dashboard.ts';

const RATE = '[$__rate_interval]';
const EDGE = 'service="edge"';

const rate = (metric: string, labels = '', by = ''): string =>
  `sum${by && ` by (${by})`} (rate(${metric}${labels && `{${labels}}`}${RATE}))`;
const quantile = (q: number, metric: string, labels = '', by = ''): string =>
  `histogram_quantile(${q}, sum by (${['le', by].filter(Boolean).join(', ')}) (rate(${metric}_bucket${labels && `{${labels}}`}${RATE})))`;

const CHANNEL = 'channel=~"$channel"';

const OVERVIEW: Board = {
  uid: 'gateway-overview',
  title: 'Gateway / Overview',
  description: 'What callers get: requests, failures, speed, refusals.',
  panels: [
    {
      title: 'Requests',
      description: 'Requests that ended, a second.',
      unit: 'reqps',
      shows: 'number',
      targets: [{ expr: rate('gateway_requests_total', EDGE), legend: 'requests' }],
    },
    {
      title: 'Failed',
      description: 'The share of requests that failed: a status of 500 or more, or a broken stream.',
      unit: 'percentunit',
      shows: 'number',
      targets: [
        {
          expr: `(${rate('gateway_requests_total', `${EDGE}, outcome="failed"`)} or vector(0)) / ${rate('gateway_requests_total', EDGE)}`,
          legend: 'failed',
        },
      ],
    },
    {
      title: 'Refused',
      description: 'The share of requests that were refused: a status of 400 to 499.',
      unit: 'percentunit',
      shows: 'number',
      targets: [
        {
          expr: `(${rate('gateway_requests_total', `${EDGE}, outcome="refused"`)} or vector(0)) / ${rate('gateway_requests_total', EDGE)}`,
          legend: 'refused',
        },
      ],
    },
    {
      title: 'First output, p95',
      description: 'From the request to the first byte of its reply, over all channels of text.',
      unit: 's',
      shows: 'number',
      targets: [{ expr: quantile(0.95, 'gateway_first_byte_seconds'), legend: 'p95' }],
    },
    {
      title: 'In flight',
      description: 'Requests that have begun and not ended.',
      unit: 'short',
      shows: 'number',
      targets: [{ expr: `sum(gateway_requests_in_flight{${EDGE}})`, legend: 'in flight' }],
    },
    {
      title: 'Cost, an hour',
      description: 'What settled requests cost, at the pace of now.',
      unit: 'currencyUSD',
      shows: 'number',
      targets: [{ expr: `${rate('gateway_cost_usd_total')} * 3600`, legend: 'cost' }],
    },
    {
      title: 'Requests by endpoint',
      description: 'Requests that ended, by the pattern of their path.',
      unit: 'reqps',
      width: 12,
      targets: [{ expr: rate('gateway_requests_total', EDGE, 'endpoint'), legend: '{{endpoint}}' }],
    },
    {
      title: 'Requests by status',
      description: 'Requests that ended, by the status that their callers got.',
      unit: 'reqps',
      width: 12,
      targets: [{ expr: rate('gateway_requests_total', EDGE, 'status'), legend: '{{status}}' }],
    },
    {
      title: 'Duration',
      description: 'From the first byte received to the last byte sent.',
      unit: 's',
      targets: [
        { expr: quantile(0.5, 'gateway_request_duration_seconds', EDGE), legend: 'p50' },
        { expr: quantile(0.95, 'gateway_request_duration_seconds', EDGE), legend: 'p95' },
        { expr: quantile(0.99, 'gateway_request_duration_seconds', EDGE), legend: 'p99' },
      ],
    },
    {
      title: 'Tokens',
      description:
        'Tokens as providers reported them, a second; cached input is part of input, reasoning of output.',
      unit: 'cps',
      targets: [{ expr: rate('gateway_tokens_total', '', 'kind'), legend: '{{kind}}' }],
    },
    {
      title: 'Refused, by reason',
      description:
        'Requests with a valid key that were refused before any provider was called: limits, budgets, too much to do.',
      unit: 'reqps',
      targets: [{ expr: rate('gateway_refused_total', '', 'reason'), legend: '{{reason}}', isRare: true }],
    },
    {
      title: 'Open WebSockets',
      description: 'WebSockets that are open now.',
      unit: 'short',
      targets: [{ expr: 'sum(gateway_websockets_open)', legend: 'open' }],
    },
    {
      title: 'Realtime sessions',
      description: 'Realtime sessions that are open now.',
      unit: 'short',
      targets: [{ expr: 'sum(gateway_realtime_sessions_open)', legend: 'open' }],
    },
    {
      title: 'Realtime sessions that ended',
      description: 'By who or what ended them.',
      unit: 'cps',
      targets: [
        {
          expr: rate('gateway_realtime_sessions_closed_total', '', 'reason'),
          legend: '{{reason}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Realtime tokens',
      description: 'Tokens of responses in realtime sessions, a second; sound is part of input or output.',
      unit: 'cps',
      targets: [{ expr: rate('gateway_realtime_tokens_total', '', 'kind'), legend: '{{kind}}' }],
    },
    {
      title: 'Realtime sound, a minute',
      description: 'Minutes of sound that callers send in a minute: how many of them are speaking.',
      unit: 'short',
      targets: [{ expr: rate('gateway_realtime_heard_seconds_total', '', 'channel'), legend: '{{channel}}' }],
    },
    {
      title: 'Left-out members',
      description: 'Members of requests that a translation had to leave out, by the two protocols.',
      unit: 'cps',
      targets: [
        {
          expr: rate('gateway_translation_losses_total', '', 'caller, target'),
          legend: '{{caller}} to {{target}}',
          isRare: true,
        },
      ],
    },
  ],
};

const CHANNELS: Board = {
  uid: 'gateway-channels',
  title: 'Gateway / Channels',
  description: 'How providers do: attempts, failures, speed, rests.',
  choice: { label: 'channel', metric: 'gateway_upstream_attempts_total' },
  panels: [
    {
      title: 'Attempts',
      description: 'Requests sent to channels.',
      unit: 'reqps',
      targets: [{ expr: rate('gateway_upstream_attempts_total', CHANNEL, 'channel'), legend: '{{channel}}' }],
    },
    {
      title: 'Attempts without an answer',
      description: 'Attempts that did not bring a first output, by how they ended.',
      unit: 'reqps',
      targets: [
        {
          expr: rate('gateway_upstream_attempts_total', `${CHANNEL}, outcome!="ok"`, 'channel, outcome'),
          legend: '{{channel}} {{outcome}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Answered',
      description: 'The share of attempts that brought a first output.',
      unit: 'percentunit',
      targets: [
        {
          expr: `${rate('gateway_upstream_attempts_total', `${CHANNEL}, outcome="ok"`, 'channel')} / ${rate('gateway_upstream_attempts_total', CHANNEL, 'channel')}`,
          legend: '{{channel}}',
        },
      ],
    },
    {
      title: 'First output, p95',
      description: 'From the request to the first byte of its reply.',
      unit: 's',
      targets: [
        { expr: quantile(0.95, 'gateway_first_byte_seconds', CHANNEL, 'channel'), legend: '{{channel}}' },
      ],
    },
    {
      title: 'Time per token, p50',
      description: 'Time per output token after the first output of a stream.',
      unit: 's',
      targets: [
        { expr: quantile(0.5, 'gateway_output_token_seconds', CHANNEL, 'channel'), legend: '{{channel}}' },
      ],
    },
    {
      title: 'Output tokens',
      description: 'Output tokens a second, reasoning included.',
      unit: 'cps',
      targets: [
        { expr: rate('gateway_tokens_total', `${CHANNEL}, kind="output"`, 'channel'), legend: '{{channel}}' },
      ],
    },
    {
      title: 'Resting',
      description: 'Channels, accounts and models that rest, as the replica that sees most of them knows.',
      unit: 'short',
      targets: [
        {
          expr: `max by (channel, scope, cause) (gateway_channel_resting{${CHANNEL}})`,
          legend: '{{channel}} ({{scope}}, {{cause}})',
          isRare: true,
        },
      ],
    },
    {
      title: 'Failures that count for a rest',
      description: 'By cause; replies that broke after their first output are among them.',
      unit: 'reqps',
      targets: [
        {
          expr: rate('gateway_channel_failures_total', CHANNEL, 'channel, cause'),
          legend: '{{channel}} {{cause}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Waiting for a free slot',
      description:
        'Requests that wait for an account at its limit of concurrent requests, and those in flight.',
      unit: 'short',
      targets: [
        { expr: `sum by (channel) (gateway_upstream_waiting{${CHANNEL}})`, legend: '{{channel}} waiting' },
        {
          expr: `sum by (channel) (gateway_upstream_in_flight{${CHANNEL}})`,
          legend: '{{channel}} in flight',
        },
      ],
    },
    {
      title: 'Refused credentials',
      description: '1 while the provider refuses the API key of an account.',
      unit: 'short',
      targets: [
        {
          expr: `max by (channel, account) (gateway_channel_credentials_refused{${CHANNEL}})`,
          legend: '{{channel}} {{account}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Second channels beside late ones',
      description:
        'Requests for which a second channel was called beside a late one, by which of them answered.',
      unit: 'reqps',
      targets: [
        {
          expr: rate('gateway_upstream_hedges_total', CHANNEL, 'channel, winner'),
          legend: '{{channel}}: {{winner}}',
          isRare: true,
        },
      ],
    },
  ],
};

const MONEY: Board = {
  uid: 'gateway-money',
  title: 'Gateway / Money',
  description: 'What requests cost. The console has it by key and team, exact to the millionth of a dollar.',
  panels: [
    {
      title: 'Cost, in the chosen time',
      description: 'What settled requests cost.',
      unit: 'currencyUSD',
      shows: 'number',
      targets: [{ expr: 'sum(increase(gateway_cost_usd_total[$__range]))', legend: 'cost' }],
    },
    {
      title: 'Cost, an hour',
      description: 'At the pace of now.',
      unit: 'currencyUSD',
      shows: 'number',
      targets: [{ expr: `${rate('gateway_cost_usd_total')} * 3600`, legend: 'cost' }],
    },
    {
      title: 'Near their budgets',
      description:
        'Requests let in on a budget of which 80 % or more is used or reserved, in the chosen time.',
      unit: 'short',
      shows: 'number',
      targets: [{ expr: 'sum(increase(gateway_budget_near_total[$__range]))', legend: 'requests' }],
    },
    {
      title: 'Cost by model, an hour',
      description: 'By the name that callers use.',
      unit: 'currencyUSD',
      width: 12,
      targets: [{ expr: `${rate('gateway_cost_usd_total', '', 'model')} * 3600`, legend: '{{model}}' }],
    },
    {
      title: 'Cost by channel, an hour',
      description: 'By the channel that answered.',
      unit: 'currencyUSD',
      width: 12,
      targets: [{ expr: `${rate('gateway_cost_usd_total', '', 'channel')} * 3600`, legend: '{{channel}}' }],
    },
    {
      title: 'Cost by team, an hour',
      description: 'Where METRICS_TEAMS gives teams samples of their own.',
      unit: 'currencyUSD',
      width: 12,
      targets: [
        {
          expr: `${rate('gateway_team_cost_usd_total', '', 'team')} * 3600`,
          legend: '{{team}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Cached share of input',
      description: 'Input tokens that providers read from their caches, of all input tokens.',
      unit: 'percentunit',
      width: 12,
      targets: [
        {
          expr: `(${rate('gateway_tokens_total', 'kind="cached_input"', 'channel')} or 0 * ${rate('gateway_tokens_total', 'kind="input"', 'channel')}) / ${rate('gateway_tokens_total', 'kind="input"', 'channel')}`,
          legend: '{{channel}}',
        },
      ],
    },
    {
      title: 'Refused for money',
      description: 'Requests refused because a budget is spent, or because the model has no price.',
      unit: 'reqps',
      width: 12,
      targets: [
        {
          expr: rate('gateway_refused_total', 'reason=~"budget|unpriced_model"', 'reason'),
          legend: '{{reason}}',
          isRare: true,
        },
      ],
    },
  ],
};

const QUEUES: Board = {
  uid: 'gateway-queues',
  title: 'Gateway / Queues',
  description: 'Jobs, batches, webhooks and alerts.',
  panels: [
    {
      title: 'Jobs',
      description:
        'By queue and state; delayed ones wait for their next attempt, or for other jobs of their key.',
      unit: 'short',
      targets: [{ expr: 'max by (queue, state) (gateway_jobs)', legend: '{{queue}} {{state}}' }],
    },
    {
      title: 'Oldest waiting job',
      description: 'How long the oldest job of each queue has waited.',
      unit: 's',
      targets: [{ expr: 'max by (queue) (gateway_job_oldest_waiting_seconds)', legend: '{{queue}}' }],
    },
    {
      title: 'Time in the queue, p95',
      description: 'From a job being queued to a worker taking it.',
      unit: 's',
      targets: [{ expr: quantile(0.95, 'gateway_job_queue_seconds', '', 'kind'), legend: '{{kind}}' }],
    },
    {
      title: 'Duration of jobs, p95',
      description: 'From start to end, without the queue.',
      unit: 's',
      targets: [
        {
          expr: quantile(0.95, 'gateway_request_duration_seconds', 'service=~".*-worker"', 'endpoint'),
          legend: '{{endpoint}}',
        },
      ],
    },
    {
      title: 'Lines of batches',
      description: 'Lines that ended by themselves.',
      unit: 'cps',
      targets: [
        {
          expr: rate('gateway_batch_lines_total', '', 'kind, outcome'),
          legend: '{{kind}} {{outcome}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Batches at providers',
      description: 'Batches that were given to the batch API of a channel, when they ended.',
      unit: 'cps',
      targets: [
        {
          expr: rate('gateway_provider_batches_total', '', 'channel, outcome'),
          legend: '{{channel}} {{outcome}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Webhooks',
      description: 'Attempts to send webhooks.',
      unit: 'cps',
      targets: [
        { expr: rate('gateway_webhook_attempts_total', '', 'outcome'), legend: '{{outcome}}', isRare: true },
      ],
    },
  ],
};

const PROCESSES: Board = {
  uid: 'gateway-processes',
  title: 'Gateway / Processes',
  description: 'What each process uses, and how full Redis, disks and the database are.',
  choice: { label: 'instance', metric: 'process_start_time_seconds{service!=""}' },
  panels: [
    {
      title: 'Processor',
      description: 'Seconds of processor a second: 1 is one core.',
      unit: 'short',
      targets: [
        {
          expr: `rate(process_cpu_seconds_total{service!="", instance=~"$instance"}${RATE})`,
          legend: '{{service}} {{instance}}',
        },
      ],
    },
    {
      title: 'Memory',
      description: 'Resident memory.',
      unit: 'bytes',
      targets: [
        {
          expr: 'process_resident_memory_bytes{service!="", instance=~"$instance"}',
          legend: '{{service}} {{instance}}',
        },
      ],
    },
    {
      title: 'Delay of the event loop, p99',
      description: 'Above half a second a process refuses new work.',
      unit: 's',
      targets: [
        {
          expr: 'nodejs_eventloop_lag_p99_seconds{service!="", instance=~"$instance"}',
          legend: '{{service}} {{instance}}',
        },
      ],
    },
    {
      title: 'Started',
      description: 'When each process began.',
      unit: 'dateTimeAsIso',
      targets: [
        {
          expr: 'process_start_time_seconds{service!="", instance=~"$instance"} * 1000',
          legend: '{{service}} {{instance}}',
        },
      ],
    },
    {
      title: 'Requests in flight',
      description: 'By service.',
      unit: 'short',
      targets: [
        {
          expr: 'sum by (service) (gateway_requests_in_flight{instance=~"$instance"})',
          legend: '{{service}}',
        },
      ],
    },
    {
      title: 'Bodies in memory',
      description: 'Bytes of bodies in the memory of a process.',
      unit: 'bytes',
      targets: [
        {
          expr: 'max by (instance) (gateway_body_bytes_in_flight{instance=~"$instance"})',
          legend: '{{instance}}',
        },
      ],
    },
    {
      title: 'Refused for too much to do',
      description: 'By the bound that was reached.',
      unit: 'reqps',
      targets: [
        {
          expr: rate('gateway_shed_total', '', 'service, reason'),
          legend: '{{service}} {{reason}}',
          isRare: true,
        },
      ],
    },
    {
      title: 'Connections of callers',
      description: 'Open at the edge.',
      unit: 'short',
      targets: [{ expr: 'sum(gateway_connections)', legend: 'open' }],
    },
    {
      title: 'Memory of Redis',
      description: 'Used, and the limit where Redis has one.',
      unit: 'bytes',
      targets: [{ expr: 'max by (kind) (gateway_redis_memory_bytes)', legend: '{{kind}}' }],
    },
    {
      title: 'Behind in the database',
      description: 'How long ago the database had all usage that Redis has.',
      unit: 's',
      targets: [{ expr: 'max(gateway_recorder_lag_seconds)', legend: 'behind' }],
    },
    {
      title: 'Usage on disk',
      description: 'Usage that Redis has yet to take.',
      unit: 'bytes',
      targets: [{ expr: 'max(gateway_usage_spool_bytes)', legend: 'waiting' }],
    },
    {
      title: 'Stored responses and conversations',
      description: 'By where they are.',
      unit: 'short',
      targets: [{ expr: 'max by (place) (gateway_stored_records)', legend: '{{place}}' }],
    },
  ],
};

export const BOARDS: readonly Board[] = [OVERVIEW, CHANNELS, MONEY, QUEUES, PROCESSES];
