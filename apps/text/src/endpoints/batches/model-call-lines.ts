import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { callerNamesIn } from '@gateway/model-service/caller-names';
import { parseJson } from '@gateway/service-kit/request/json-body';
import { openQueuedContext } from '../background/job-call.ts';
import type { BatchEndpoint, LineRequest } from './batch-endpoint.ts';

/** Lines for models that answer at once, which the retrieval service has for callers who wait: with its code, loaded with the first one. */
export const modelCallLines = (endpoint: 'embeddings' | 'moderations'): BatchEndpoint => {
  const open = async (request: LineRequest) => {
    const { services, caller, identity, bytes } = request;
    const { openLineCall } = await import('@gateway/model-calls/line-call');
    const value = parseJson(bytes, services.maxJsonDepth);
    const context = openQueuedContext(request);
    const sent = { value, bytes, headers: caller.headers, caller, context, identity, entry: undefined };
    return { call: openLineCall(endpoint, services, sent), context };
  };
  return {
    scope: endpoint,
    passedTo: endpoint,
    translatedTo: [],
    check: async (request) => {
      const { model, estimate, names, answerBytes } = (await open(request)).call;
      return { model, estimate, answerBytes, names: callerNamesIn(request.caller.headers, names) };
    },
    answer: async (request, { jobId, signal, consumed, isTriedAgain }) => {
      const { call, context } = await open(request);
      context.line.usageId = jobId;
      let usage: UsageResult | undefined;
      const settle = async (result: UsageResult) => {
        usage = result;
        consumed(result);
      };
      signal.throwIfAborted();
      await call.run(() => {
        consumed(undefined);
        return { settle, givenBack: async () => undefined, isTriedAgain };
      });
      return ConsumedUsage.parse(usage);
    },
    passed: async (request) => {
      const { call } = await open(request);
      const json = await call.passed();
      return json === null ? null : { json, inputs: call.inputs };
    },
  };
};
