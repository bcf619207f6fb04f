import type { ClientRequest, IncomingMessage } from 'node:http';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { READINESS_CHANGES_PATH, READINESS_INTERVAL_MS, ReadinessReport } from '@gateway/contracts/readiness';
import { http } from '@gateway/service-kit/node-http';
import type { AddressState, ServiceAddress } from './service-pool.ts';

export interface AddressWatch {
  close(): void;
}

interface AddressWatchOptions {
  readonly address: Pick<ServiceAddress, 'host' | 'port'>;
  /** Called with each state that differs from the one before; the first is `unknown`. */
  readonly onState: (state: AddressState, missing: readonly string[]) => void;
}

/**
 * After so many intervals without a report an address counts as silent: three quarters of a second. This process's own
 * timer counts them, so that a pause of the edge itself does not make every address silent.
 */
const MAX_QUIET_INTERVALS = 3;
/** A connection that is quiet for so long is replaced. */
const MAX_SILENT_INTERVALS = 8;

const MAX_LINE_LENGTH = 64 * 1024;

/** A service that is older than these reports. */
const NOT_FOUND = 404;

/**
 * Follows the readiness that one address of a service reports, over a connection of its own. A process that ends takes
 * the connection with it; one that hangs, or whose machine is gone, falls silent. Requests it again until it is closed.
 */
export function watchAddress({ address, onState }: AddressWatchOptions): AddressWatch {
  let state: AddressState = 'unknown';
  let request: ClientRequest | undefined;
  let quietIntervals = 0;

  const enter = (next: AddressState, missing: readonly string[] = []) => {
    if (next === state) return;
    state = next;
    onState(next, missing);
  };
  const onLine = (line: string) => {
    const report = ReadinessReport.safeParse(jsonIn(line));
    if (!report.success) return;
    quietIntervals = 0;
    const { status, missing } = report.data;
    enter(status === 'ok' ? 'ready' : status, missing);
    // By the end of this request the service knows that this edge has taken it out.
    if (status === 'stopping') request?.destroy();
  };
  const onReply = (reply: IncomingMessage) => {
    let rest = '';
    reply.setEncoding('utf8');
    reply.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
      if (rest.length > MAX_LINE_LENGTH) request?.destroy();
    });
  };
  const watch = () => {
    quietIntervals = 0;
    const { host, port } = address;
    const current = http.get({ host, port, path: READINESS_CHANGES_PATH, agent: false });
    let status: number | undefined;
    request = current;
    current.on('response', (reply) => {
      status = reply.statusCode;
      onReply(reply);
    });
    // The end of the request follows.
    current.on('error', () => undefined);
    current.on('close', () => {
      if (request !== current) return;
      request = undefined;
      if (status === NOT_FOUND) enter('unknown');
      else if (state !== 'stopping' || status === undefined) enter('gone');
    });
  };
  const onInterval = () => {
    if (request === undefined) return watch();
    quietIntervals += 1;
    if (quietIntervals === MAX_QUIET_INTERVALS) enter('silent');
    if (quietIntervals >= MAX_SILENT_INTERVALS) request.destroy();
  };
  watch();
  const timer = setInterval(onInterval, READINESS_INTERVAL_MS);

  return {
    close: () => {
      clearInterval(timer);
      const last = request;
      request = undefined;
      last?.destroy();
    },
  };
}
