import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Price } from '@gateway/contracts/models/price';
import { addConsumed, sumOfConsumptions } from '@gateway/contracts/usage/add-consumed';
import {
  type ConsumedUsage,
  type Consumption,
  NOTHING_CONSUMED,
} from '@gateway/contracts/usage/usage-record';
import { usageOfFailure } from '@gateway/contracts/usage/usage-without-reply';
import { estimateOf } from '@gateway/metering/meter/estimate';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { type Attempt, type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import type { Upstream } from '@gateway/upstream/upstream';

/** What one request to a provider is to do, and how its reply is read. */
export interface Part<Result> {
  /** The most that it can consume. */
  readonly largest: Consumption;
  /** What it usually consumes, where its provider does not report it. */
  readonly usual: Consumption;
  /** An error means that this candidate cannot take it. */
  request(candidate: Candidate): Promise<PreparedRequest | GatewayError>;
  read(bytes: Buffer, candidate: Candidate, headers: IncomingHttpHeaders): Promise<ReadPart<Result>>;
}

export interface ReadPart<Result> {
  /** What the reply reports, even if it is no answer; null where it reports nothing. */
  readonly reported: Consumption | null;
  /** An error: it is no answer. */
  readonly result: Result | UnreadableReply;
}

export interface PreparedRequest {
  readonly request: UpstreamRequest;
  /** Members of the caller's that the provider does not have. */
  readonly dropped: readonly string[];
}

/** The parts of a call, and by whom they may be answered. */
export interface Sending<Result> {
  readonly model: ResolvedModel;
  readonly candidates: readonly Candidate[];
  readonly parts: readonly Part<Result>[];
  readonly context: RequestContext;
}

interface PartAnswer<Result> {
  readonly result: Result;
  readonly candidate: Candidate;
  readonly dropped: readonly string[];
}

/** What became of the parts. */
interface Sent<Result> {
  /** All of them, in their order, unless something was thrown. */
  readonly answers: readonly PartAnswer<Result>[];
  readonly attempts: readonly Attempt[];
  /** By answers, by replies that were none, and by requests whose replies were not awaited. */
  readonly consumed: ConsumedUsage;
  /** Why the first part failed that did. */
  readonly thrown: unknown;
}

/** What was used at one price. */
interface Charge {
  readonly price: Price | null;
  readonly consumption: Consumption;
  readonly estimated: boolean;
}

/** Parts of one call that are under way at a time. */
const PARTS_AT_ONCE = 4;
/** Two thousand vectors of three thousand numbers, written out, are some 140 MB. */
export const MAX_REPLY_BYTES = 256 * 1024 * 1024;

/** Sends the parts of a call, a few at a time. One that fails ends the others. */
export async function sendParts<Result>(
  upstream: Pick<Upstream, 'send'>,
  { model, candidates, parts, context }: Sending<Result>,
): Promise<Sent<Result>> {
  const attempts: Attempt[] = [];
  const charges: Charge[] = [];
  const failures: ConsumedUsage[] = [];
  const discarded: Promise<void>[] = [];
  const answers = new Map<number, PartAnswer<Result>>();
  const ending = new AbortController();
  const signal = parts.length > 1 ? AbortSignal.any([context.signal, ending.signal]) : context.signal;
  let thrown: unknown;

  const charge = ({ route }: Candidate, consumption: Consumption, estimated: boolean) =>
    charges.push({ price: model.priceAt(route), consumption, estimated });

  const sendPart = async (index: number, part: Part<Result>): Promise<void> => {
    const ofPart: Attempt[] = [];
    let answer: PartAnswer<Result> | null = null;
    const dropped = new Map<Candidate, readonly string[]>();
    const read = async (reply: Reply): Promise<GatewayError | null> => {
      const { candidate } = reply;
      try {
        const bytes = await reply.bytes(MAX_REPLY_BYTES);
        const { reported, result } = await part.read(bytes, candidate, reply.headers);
        if (reported !== null) charge(candidate, reported, false);
        if (result instanceof UnreadableReply) {
          reply.unreadable(result.message);
          return result;
        }
        if (reported === null) charge(candidate, part.usual, true);
        answer = { result, candidate, dropped: dropped.get(candidate) ?? [] };
        return null;
      } catch (error) {
        if (error instanceof GatewayError) return error;
        throw error;
      }
    };
    try {
      await upstream.send({
        candidates,
        request: async (candidate) => {
          const prepared = await part.request(candidate);
          if (prepared instanceof GatewayError) return prepared;
          dropped.set(candidate, prepared.dropped);
          return prepared.request;
        },
        read,
        onAttempt: (attempt) => {
          ofPart.push(attempt);
          attempts.push(attempt);
        },
        onDiscarded: ({ candidate, bytes, headers }) => {
          const chargeReported = ({ reported }: ReadPart<Result>) => {
            if (reported !== null) charge(candidate, reported, false);
          };
          discarded.push(part.read(bytes, candidate, headers).then(chargeReported));
        },
        dialect: context.dialect,
        signal,
        trace: context.trace,
        work: 'free',
        streamed: false,
      });
      if (answer !== null) answers.set(index, answer);
    } catch (error) {
      thrown ??= error;
      ending.abort(new CallerLeft());
      const { code } = toGatewayError(error);
      failures.push(usageOfFailure(estimateOf(model.price, part.largest), code, ofPart));
    }
  };

  const waiting = parts.entries();
  const sendInTurn = async (): Promise<void> => {
    for (const [index, part] of waiting) {
      if (thrown !== undefined) return;
      await sendPart(index, part);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARTS_AT_ONCE, parts.length) }, sendInTurn));
  await Promise.all(discarded);

  const inOrder = [...answers].sort(([one], [other]) => one - other).map(([, answer]) => answer);
  const charged: ConsumedUsage = {
    channel: inOrder[0]?.candidate.channel.name ?? null,
    attempts: attempts.filter(({ outcome }) => outcome !== 'busy').length,
    consumption: sumOf(charges.map(({ consumption }) => consumption)),
    estimated: charges.some(({ estimated }) => estimated),
    costMicroUsd: costOf(model, charges),
  };
  return { answers: inOrder, attempts, consumed: failures.reduce(addConsumed, charged), thrown };
}

/** What is charged at one price is rounded once. */
function costOf({ price: usual }: ResolvedModel, charges: readonly Charge[]): number | null {
  if (usual === null) return null;
  let sum = 0;
  for (const [price, all] of Map.groupBy(charges, (charge) => charge.price))
    if (price !== null) sum += costMicroUsd(price, sumOf(all.map(({ consumption }) => consumption)));
  return sum;
}

/** What several parts consume together. */
export const sumOf = (all: readonly Consumption[]): Consumption =>
  all.reduce(sumOfConsumptions, NOTHING_CONSUMED);
