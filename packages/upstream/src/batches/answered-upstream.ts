import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { ResolvedModel } from '../catalog.ts';
import type { ChannelBatches } from '../configuration/configuration.ts';
import { answerFailure } from '../failures/answer-failure.ts';
import { failureError } from '../failures/failure.ts';
import type { FailureKind } from '../failures/failure-rules.ts';
import type { Attempt, Reply, ReplySink } from '../replies/reply.ts';
import type { SendOptions } from '../sending/send.ts';
import type { Upstream } from '../upstream.ts';
import { batchPrice } from './open-batch-api.ts';

/** The channel's account that does a batch. */
export interface BatchPlace {
  readonly channel: string;
  readonly account: string;
  /** What its channel said when it began: it is that of the batch still where the channel says nothing any more. */
  readonly batches: ChannelBatches;
}

/** What a provider has answered to a request, some other way than by a request of its own. */
export interface GivenAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * The providers as a line of a batch at one of them sees them: there is no other candidate, its models have the prices of batches, and what
 * is sent is answered by what is there already.
 */
export function answeredUpstream(
  upstream: Upstream,
  place: BatchPlace,
  answer: GivenAnswer | null,
): Upstream {
  return {
    get configuration() {
      return upstream.configuration;
    },
    get slots() {
      return upstream.slots;
    },
    health: upstream.health,
    resolveModel: (name) => {
      const model = upstream.resolveModel(name);
      return model && atBatchPrice(model, place);
    },
    listModels: upstream.listModels,
    listNamedModels: upstream.listNamedModels,
    candidates: (query) =>
      upstream
        .candidates(query)
        .filter(
          ({ channel, account, protocol }) =>
            channel.name === place.channel && account.name === place.account && protocol === query.protocol,
        ),
    send: (options) => sendAnswered(options, answer),
    openSocket: upstream.openSocket,
    fetchAsset: upstream.fetchAsset,
    replace: upstream.replace,
    close: upstream.close,
    destroy: upstream.destroy,
  };
}

function atBatchPrice(model: ResolvedModel, place: BatchPlace): ResolvedModel {
  const [route] = model.routes
    .filter(({ channel }) => channel.name === place.channel)
    .toSorted((one, other) => one.priority - other.priority);
  const usual = route && model.priceAt(route);
  if (!usual) return model;
  const { priceFactor } = route.channel.batches ?? place.batches;
  const price = batchPrice(usual, priceFactor);
  return { ...model, price, priceAt: () => price };
}

async function sendAnswered(options: SendOptions, answer: GivenAnswer | null): Promise<Reply> {
  const { candidates, request, dialect, read, onAttempt } = options;
  const [candidate] = candidates;
  if (candidate === undefined)
    throw new GatewayError('no_available_channel', 'The channel of the batch no longer has this model.');
  const made = await request(candidate);
  if (made instanceof GatewayError) throw made;
  if (answer === null) throw new GatewayError('internal', 'Nothing was answered in the batch.');
  const attempts: Attempt[] = [];
  const record = (outcome: 'ok' | FailureKind, detail: string | null) => {
    const { channel, account, route } = candidate;
    const times = { durationMs: 0, waitedMs: 0 };
    attempts.push({
      channel: channel.name,
      account: account.name,
      route,
      outcome,
      isHedge: false,
      status: answer.status,
      detail,
      ...times,
    });
    for (const attempt of attempts) onAttempt?.(attempt, attempts);
  };
  if (answer.status < 200 || answer.status > 299) {
    const body = answer.body.toString();
    const context = { candidate, dialect, namesObject: false, translated: made.translated ?? false };
    const failure = answerFailure({ status: answer.status, headers: {}, body }, context);
    record(failure.kind, failure.detail);
    throw failureError(failure);
  }
  record('ok', null);
  const reply = new GivenReply(candidate, answer, attempts);
  const unread = (await read?.(reply)) ?? null;
  if (unread !== null) throw unread;
  return reply;
}

/** A reply that is there whole. */
class GivenReply implements Reply {
  readonly candidate: Candidate;
  readonly status: number;
  readonly headers = { 'content-type': 'application/json' };
  readonly attempts: readonly Attempt[];
  readonly dropped = [];
  readonly timings = { headersMs: 0, firstOutputMs: 0 };
  readonly ended = true;
  readonly draining = false;
  readonly #body: Buffer;

  constructor(candidate: Candidate, { status, body }: GivenAnswer, attempts: readonly Attempt[]) {
    this.candidate = candidate;
    this.status = status;
    this.attempts = attempts;
    this.#body = body;
  }

  get body(): AsyncIterable<Buffer> {
    const body = this.#body;
    return (async function* () {
      yield body;
    })();
  }

  consume(sink: ReplySink): void {
    sink.onChunk(this.#body);
    sink.onEnd();
  }

  async bytes(maxBytes: number): Promise<Buffer> {
    if (this.#body.length <= maxBytes) return this.#body;
    const message = 'The upstream sent more than this gateway takes.';
    throw new GatewayError('upstream_failed', { message, source: 'upstream', retry: false });
  }

  resume(): void {}
  letGo(): void {}
  cancel(): void {}
  unreadable(): void {}
}
