import { Readable } from 'node:stream';
import type { Dialect } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { SlotPool } from '../choosing/slot-pool.ts';
import type { Channel } from '../configuration/configuration.ts';
import type { Failure } from '../failures/failure.ts';
import type { OutputCheck } from '../first-output/check-first-output.ts';
import type { ChannelHealth } from '../health/channel-health.ts';
import type { AttemptResult } from '../health/targets/target-health.ts';
import { callLibrary } from '../libraries/call-library.ts';
import { upstreamHeaders } from '../requests/request-headers.ts';
import type { StreamedBody, UpstreamRequest } from '../requests/upstream-request.ts';
import type { ChannelClient } from './channel-client.ts';
import { Exchange } from './exchange.ts';
import type { Work } from './exchange-options.ts';

/** What an attempt's failure, or its success (null), means for the health of its channel. */
const resultOf = (
  startedAtMs: number,
  stage: AttemptResult['stage'],
  failure: Failure | null,
): AttemptResult => ({
  startedAtMs,
  stage,
  outcome: failure === null ? 'ok' : (failure.trouble ?? 'neutral'),
});

export interface AttemptOptions {
  readonly candidate: Candidate;
  readonly client: ChannelClient;
  /** Released when the exchange is over. */
  readonly slot: Pick<SlotPool, 'release'>;
  readonly request: UpstreamRequest;
  readonly dialect: Dialect;
  readonly work: Work;
  readonly streamed: boolean;
  readonly checkOutput: OutputCheck;
  readonly holdsStart: boolean;
  readonly isLast: boolean;
  readonly withinMs: number;
  readonly signal: AbortSignal | undefined;
  /** Fires when another candidate has answered the same request. */
  readonly overtaken: AbortSignal | undefined;
  readonly health: ChannelHealth;
}

interface Outcome {
  readonly exchange: Exchange;
  /** Null: its reply is accepted. */
  readonly failure: Failure | null;
}

const pathOf = (channel: Channel, { operation, subpath, query }: UpstreamRequest): string => {
  const path = channel.paths[operation];
  if (path === undefined) throw new Error(`channel ${channel.name} has no path for ${operation}`);
  return query ? `${path}${subpath ?? ''}?${query}` : `${path}${subpath ?? ''}`;
};

const isStreamed = (body: UpstreamRequest['body']): body is StreamedBody =>
  typeof body === 'object' && 'open' in body;

/** Sends the request to one channel, until its first output is accepted or it has failed. Rejects only for internal errors. */
export const attempt = (options: AttemptOptions): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const { candidate, client, request, health } = options;
    const { channel } = candidate;
    const exchange: Exchange = new Exchange(
      {
        ...options,
        namesObject: request.subpath !== undefined,
        translated: request.translated ?? false,
        onEnd: (ended, failure) => health.report(candidate, resultOf(ended.startedAt, 'end', failure)),
        onUnreadable: (ended, failure) =>
          health.report(candidate, resultOf(ended.startedAt, 'reading', failure)),
      },
      (failure) => {
        health.report(candidate, resultOf(exchange.startedAt, 'first output', failure));
        resolve({ exchange, failure });
      },
    );
    const stop = () => exchange.fail('overtaken', 'another channel answered first');
    options.overtaken?.addEventListener('abort', stop, { once: true });
    if (channel.library !== null) {
      void callLibrary({ candidate, client, request, library: channel.library }, exchange);
      return;
    }
    const path = pathOf(channel, request);
    const streamed = isStreamed(request.body) ? request.body : null;
    const length = streamed?.sizeBytes ?? null;
    const headers = upstreamHeaders(candidate.account, request.headers, request.operation, length);
    const body = isStreamed(request.body) ? request.body.open() : (request.body ?? null);

    if (body instanceof Readable) {
      body.once('error', (error) => {
        reject(error);
        exchange.fail('failed', 'the request body could not be read', error);
      });
    }
    client.dispatch({ path, method: request.method, headers, body }, exchange);
  });
