import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import {
  callModel,
  largestOf,
  type ModelCallServices,
  type ReservedCall,
  type SizedCall,
} from './call/call-model.ts';
import { MAX_REPLY_BYTES } from './call/send-parts.ts';
import type { SentRequest } from './call/sent-request.ts';
import { embeddingsCall } from './embeddings/embeddings-call.ts';
import { moderationsCall } from './moderations/moderations-call.ts';

type ModelCallNames = SizedCall<never>['names'];

/** A request that is a line of a batch: who runs the batch has reserved for it, under an id of its own. */
export interface LineCall {
  readonly model: string;
  readonly names: ModelCallNames;
  /** The most that it can consume and cost. */
  readonly estimate: UsageResult;
  readonly inputs: number;
  readonly answerBytes: number;
  /**
   * What its first candidate would get; null where that is not OpenAI's form, or more than one request.
   *
   * @throws {GatewayError} where that candidate cannot take it
   */
  passed(): Promise<string | null>;
  /** Answers its caller. @param begin called when it is about to be sent, for what its usage is told to */
  run(begin: () => ReservedCall): Promise<void>;
}

const OPENERS = {
  embeddings: (services: ModelCallServices, sent: SentRequest) =>
    lineCall(services, embeddingsCall(services, sent)),
  moderations: (services: ModelCallServices, sent: SentRequest) =>
    lineCall(services, moderationsCall(services, sent)),
};

/** @throws {GatewayError} for what the endpoint refuses */
export const openLineCall = (
  endpoint: keyof typeof OPENERS,
  services: ModelCallServices,
  sent: SentRequest,
): LineCall => OPENERS[endpoint](services, sent);

function lineCall<Result>(services: ModelCallServices, call: SizedCall<Result>): LineCall {
  const { model, names, parts, candidates, inputs, answerBytes } = call;
  return {
    model: model.name,
    names,
    estimate: largestOf(call),
    inputs,
    // Whatever vectors are asked for, no more than this is read.
    answerBytes: Math.min(answerBytes, parts.length * MAX_REPLY_BYTES),
    passed: async () => {
      const [part] = parts;
      const [candidate] = candidates;
      if (part === undefined || candidate === undefined || parts.length > 1) return null;
      const prepared = await part.request(candidate);
      if (prepared instanceof GatewayError) throw prepared;
      const { body, translated = false } = prepared.request;
      return translated || !(typeof body === 'string' || Buffer.isBuffer(body)) ? null : body.toString();
    },
    run: (begin) => callModel(services, call, async () => begin()),
  };
}
