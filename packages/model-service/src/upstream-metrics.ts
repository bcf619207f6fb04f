import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import type { OpenUpstreamOptions } from '@gateway/upstream/open-upstream';
import type { Upstream } from '@gateway/upstream/upstream';
import { Counter, Gauge, Histogram } from 'prom-client';

/** Seconds; a request waits for a minute at most. */
const WAIT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The cause of a rest that somebody has to end by correcting the configuration. */
const CREDENTIALS = 'credentials';

type Observers = Required<
  Pick<OpenUpstreamOptions, 'onAttempt' | 'onCredentials' | 'onHedge' | 'onTrouble' | 'onPick' | 'onWait'>
>;

/** Counts what is sent to channels. */
export function createUpstreamMetrics({ registry }: MetricsRegistry): Observers {
  const registers = [registry];
  const attempts = new Counter({
    name: 'gateway_upstream_attempts_total',
    help: 'Requests sent to channels, by how they went until their first output',
    labelNames: ['channel', 'account', 'outcome'],
    registers,
  });
  const hedges = new Counter({
    name: 'gateway_upstream_hedges_total',
    help: 'Requests for which a second channel was called because the first was slow, by the slow channel and by which of them answered first',
    labelNames: ['channel', 'winner'],
    registers,
  });
  const troubles = new Counter({
    name: 'gateway_channel_failures_total',
    help: "Failures that count for a channel's cooldown, by cause",
    labelNames: ['channel', 'cause'],
    registers,
  });
  const picks = new Counter({
    name: 'gateway_upstream_picks_total',
    help: 'Choices between several candidates, by what came first and what decided it: affinity, weight or load',
    labelNames: ['channel', 'account', 'by'],
    registers,
  });
  const waits = new Histogram({
    name: 'gateway_upstream_wait_seconds',
    help: 'Waits of requests for an account without a free slot, by how they ended: served, busy or left',
    labelNames: ['channel', 'account', 'outcome'],
    buckets: WAIT_BUCKETS,
    registers,
  });
  const renewals = new Counter({
    name: 'gateway_channel_credential_renewals_total',
    help: 'Times that credentials of an account were fetched from their source, by whether that succeeded: ok or failed',
    labelNames: ['channel', 'account', 'outcome'],
    registers,
  });
  const expiry = new Gauge({
    name: 'gateway_channel_credentials_expire_at_seconds',
    help: 'When the credentials of an account expire, in seconds since 1970; they are renewed ahead of that',
    labelNames: ['channel', 'account'],
    registers,
  });
  return {
    onAttempt: ({ channel, account, outcome }) => attempts.inc({ channel, account, outcome }),
    onCredentials: ({ channel, account, expiresAtMs, failure }) => {
      renewals.inc({ channel, account, outcome: failure === null ? 'ok' : 'failed' });
      if (expiresAtMs !== null) expiry.set({ channel, account }, expiresAtMs / 1000);
    },
    onHedge: ({ channel, winner }) => hedges.inc({ channel, winner }),
    onTrouble: (channel, cause) => troubles.inc({ channel, cause }),
    onPick: ({ channel, account }, by) => picks.inc({ channel: channel.name, account: account.name, by }),
    onWait: ({ channel, account, outcome, durationMs }) =>
      waits.observe({ channel, account, outcome }, durationMs / 1000),
  };
}

/** Shows how many requests to each account are in flight and wait, each time the page is read. */
export function showSlots({ registry }: MetricsRegistry, upstream: Pick<Upstream, 'slots'>): void {
  const gauge = (name: string, help: string, member: 'inFlight' | 'waiting') =>
    new Gauge({
      name,
      help,
      labelNames: ['channel', 'account'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { channel, account, [member]: count } of upstream.slots)
          this.set({ channel, account }, count);
      },
    });
  gauge('gateway_upstream_in_flight', 'Requests to channels that have not ended', 'inFlight');
  gauge(
    'gateway_upstream_waiting',
    'Requests that are waiting for an account without a free slot',
    'waiting',
  );
}

/** Shows what is resting, each time the page is read. */
export function showRests({ registry }: MetricsRegistry, { health }: Pick<Upstream, 'health'>): void {
  new Gauge({
    name: 'gateway_channel_resting',
    help: 'Channels, accounts and models that are resting, by scope and cause, as known to this replica',
    labelNames: ['channel', 'scope', 'cause'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, scope, cause } of health.resting()) this.inc({ channel, scope, cause });
    },
  });
  new Gauge({
    name: 'gateway_channel_credentials_refused',
    help: 'Accounts whose API key the provider refuses: 1 until the configuration has another one',
    labelNames: ['channel', 'account'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, account, cause } of health.resting())
        if (cause === CREDENTIALS) this.set({ channel, account: account ?? '' }, 1);
    },
  });
}
