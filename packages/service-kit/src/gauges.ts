import { Gauge, type Registry } from 'prom-client';

/** Metrics of the present state, which are read each time the page is. */

export interface RestLabels {
  readonly channel: string;
  readonly account: string | null;
  readonly scope: string;
  readonly cause: string;
}

export interface SlotCounts {
  readonly channel: string;
  readonly account: string;
  readonly inFlight: number;
  readonly waiting: number;
}

export interface AddressLabels {
  /** The service that is reached there. */
  readonly target: string;
  readonly state: string;
}

/** The cause of a rest that somebody has to end by correcting the configuration. */
const CREDENTIALS = 'credentials';

export function showRests(registry: Registry, read: () => readonly RestLabels[]): void {
  new Gauge({
    name: 'gateway_channel_resting',
    help: 'Channels, accounts and models that rest now, by scope and cause, as this replica knows',
    labelNames: ['channel', 'scope', 'cause'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, scope, cause } of read()) this.inc({ channel, scope, cause });
    },
  });
  new Gauge({
    name: 'gateway_channel_credentials_refused',
    help: 'Accounts whose API key the provider refuses: 1 until the configuration has another one',
    labelNames: ['channel', 'account'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, account, cause } of read())
        if (cause === CREDENTIALS) this.set({ channel, account: account ?? '' }, 1);
    },
  });
}

export function showSlots(registry: Registry, read: () => Iterable<SlotCounts>): void {
  const gauge = (name: string, help: string, count: (row: SlotCounts) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['channel', 'account'],
      registers: [registry],
      collect() {
        this.reset();
        for (const row of read()) this.set({ channel: row.channel, account: row.account }, count(row));
      },
    });
  gauge('gateway_upstream_in_flight', 'Requests to channels that have not ended', (row) => row.inFlight);
  gauge(
    'gateway_upstream_waiting',
    'Requests that wait for an account without a free slot',
    (row) => row.waiting,
  );
}

export function showConnections(registry: Registry, read: () => number): void {
  new Gauge({
    name: 'gateway_connections',
    help: 'Open connections of callers',
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

export function showLoad(
  registry: Registry,
  read: () => { readonly requests: number; readonly bodyBytes: number },
): void {
  new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Requests that have begun and not ended',
    registers: [registry],
    collect() {
      this.set(read().requests);
    },
  });
  new Gauge({
    name: 'gateway_body_bytes_in_flight',
    help: 'Bytes of request bodies that the process holds in memory',
    registers: [registry],
    collect() {
      this.set(read().bodyBytes);
    },
  });
}

export function showAddresses(registry: Registry, read: () => readonly AddressLabels[]): void {
  new Gauge({
    name: 'gateway_service_addresses',
    help: 'Addresses of services, by what the edge knows of them',
    labelNames: ['target', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { target, state } of read()) this.inc({ target, state });
    },
  });
}
