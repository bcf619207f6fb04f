import { text } from 'node:stream/consumers';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { noStream } from '@gateway/model-service/batch/line-endpoint';
import { giveBack } from '../../call/accounting/give-back.ts';
import { costlyRequest, resultOf } from '../../call/accounting/metered-call.ts';
import { isPassed } from '../../call/candidates/is-passed.ts';
import { withContent } from '../../call/content/call-content.ts';
import { candidatesFor, holdCall } from '../../call/open-call.ts';
import { namesOf } from '../../call/request/conversation-key.ts';
import { namesStored } from '../../call/request/history.ts';
import type { HeldCall, OpenedCall } from '../../call/request/text-call.ts';
import type { TextEndpoint } from '../../call/request/text-endpoint.ts';
import { preparePassthrough } from '../../passthrough/passthrough.ts';
import { answerCall } from '../answer-call.ts';
import { openQueuedCall } from '../background/job-call.ts';
import type { BatchEndpoint, LineRequest } from './batch-endpoint.ts';

/** Lines with a conversation for a model: answered as for a caller who waits. */
export const conversationLines = (endpoint: TextEndpoint): BatchEndpoint => {
  const open = ({ identity, bytes, ...options }: LineRequest) =>
    openQueuedCall({ endpoint, identity, bytes }, options);
  const { scope, passedTo, translatedTo } = endpoint;
  return {
    scope,
    passedTo,
    translatedTo,
    check: async (request) => {
      const call = await open(request);
      if (call.request.streamed) throw noStream('stream');
      if (call.request.background) throw inBackground();
      const { estimate, mostMicroUsd, model } = costlyRequest(call);
      return { estimate, mostMicroUsd, names: namesOf(call), model };
    },
    answer: async (request, { jobId, signal, consumed, isTriedAgain }) => {
      const { caller } = request;
      let opened: OpenedCall | null = null;
      let held: HeldCall | null = null;
      try {
        opened = await withContent(await open(request), jobId);
        held = await holdCall(opened, 'generating');
        const candidates = candidatesFor(held);
        signal.throwIfAborted();
        consumed(undefined);
        const answering = { candidates, holdsStart: true };
        const { call, outcome } = await answerCall({ ...held, reservation: null }, answering);
        outcome.end();
        const usage = resultOf(call, outcome);
        consumed(usage);
        // An attempt that is made again is not logged: nobody would find its line by the line's usage record.
        if (outcome.thrown !== undefined && isTriedAgain(outcome.thrown)) call.content?.cancel();
        else call.content?.end(outcome);
        if (outcome.thrown !== undefined) throw outcome.thrown;
        if (!caller.hasEnded && call.context.failure) throw call.context.failure;
        return ConsumedUsage.parse(usage);
      } finally {
        caller.leave();
        // Its span waits for that, also where somebody else has its conversation.
        opened?.content?.cancel();
        if (held !== null) await giveBack(held);
      }
    },
    passed: async (request) => {
      const call = await open(request);
      if (call.history.continued !== null || namesStored(call) || call.request.compaction !== null)
        return null;
      const [candidate] = candidatesFor(call);
      if (candidate === undefined || !isPassed({ endpoint, request: call.request }, candidate)) return null;
      const prepared = await preparePassthrough({ ...call, release: null, reservation: null }, candidate);
      if (prepared instanceof GatewayError) throw prepared;
      const { body = '' } = prepared.request;
      const json = typeof body === 'object' && 'open' in body ? await text(body.open()) : body.toString();
      return { json, inputs: 0 };
    },
  };
};

const inBackground = (): GatewayError =>
  new GatewayError('unsupported_value', {
    path: ['background'],
    message: "The lines of a batch are done in the background anyway. Omit 'background'.",
  });
