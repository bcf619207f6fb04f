import { composeAnswer } from '../answer/compose-answer.ts';
import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { jsonReply, type Reply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { checkResponsesRequest } from './check-request.ts';
import { checkCompactions, compactionItem, isCompacted, isTriggered, readByModel } from './compaction.ts';
import { conversationOf } from './conversations.ts';
import { checkEncryptedReasoning, checkPairing, ownItems, previousContext } from './effective-input.ts';
import { outputItems } from './output-items.ts';
import { lastUserText, readResponsesPrompt } from './read-prompt.ts';
import { finishedResponse, startedResponse } from './response-object.ts';
import { outputOf, type StoredResponse } from './response-store.ts';
import { createResponseStream } from './response-stream.ts';

const DEFAULT_BACKGROUND_MS = 200;

/** A response's start, its end, and the stream between. */
const prepare = (call: Call, body: JsonObject) => {
  const { provider } = call;
  const items = ownItems(body.input, provider);
  const conversation = conversationOf(body.conversation, provider);
  const earlier = conversation?.items ?? previousContext(body.previous_response_id, provider);
  const context = [...earlier, ...items];
  checkPairing(context);
  checkEncryptedReasoning(items, provider.signatureSecret);
  checkCompactions(context, provider.signatureSecret);

  const prompt = readResponsesPrompt(body, readByModel(context, provider.signatureSecret));
  const answer = composeAnswer(prompt, call.wish());
  const isAlone = isTriggered(items);
  const compaction =
    isAlone || isCompacted(body, prompt.inputTokens)
      ? [{ item: compactionItem(context, provider), text: '' }]
      : [];
  const answered = outputItems(isAlone ? { ...answer, parts: [] } : answer, {
    provider,
    include: asList(body.include),
    summarises: isGiven(asObject(body.reasoning).summary),
    rawReasoning: call.wish().rawReasoning === true,
  });
  const output = [...compaction, ...answered];
  const echoed = startedResponse(body, provider.ids.next('resp_'), provider.nowSeconds());
  const started = body.background === true ? { ...echoed, status: 'queued' } : echoed;
  const outputs = output.map(({ item }) => item);
  const final = finishedResponse(echoed, answer, outputs, provider.nowSeconds());
  const ledger = tokenLedgerEntry(prompt.model, answer.usage);
  return { items, context, output, started, final, ledger, conversation };
};

type Prepared = ReturnType<typeof prepare>;

const stored = ({ items, context, output, started, final, conversation }: Prepared): StoredResponse => {
  const done = Promise.withResolvers<void>();
  let isDone = false;
  const response: StoredResponse = {
    id: asText(started.id),
    current: started,
    isBackground: started.background === true,
    inputItems: items,
    context,
    done: done.promise,
    finish: (ending) => {
      if (isDone) return;
      isDone = true;
      response.current = ending;
      // Nothing is added if the response failed or was cancelled.
      if (ending.status === final.status) conversation?.items.push(...items, ...outputOf(ending));
      done.resolve();
    },
    frames: () => {
      const ending = isDone ? response.current : final;
      const shown = ending.status === 'cancelled' ? [] : output;
      return createResponseStream({ started, final: ending, items: shown, onTerminal: () => {} }).frames;
    },
  };
  return response;
};

/** Runs a background response, with or without its caller. */
const runInBackground = (call: Call, response: StoredResponse, { final, ledger }: Prepared): void => {
  const totalMs = call.wish().backgroundMs ?? DEFAULT_BACKGROUND_MS;
  const { provider, scripted } = call;
  const end = (): void => {
    if (response.current.status === 'cancelled') return;
    provider.ledger.add(ledger);
    response.finish({ ...final, completed_at: final.completed_at === null ? null : provider.nowSeconds() });
  };
  provider.responses.later(totalMs / 2, () => {
    if (response.current.status === 'queued')
      response.current = { ...response.current, status: 'in_progress' };
  });
  if (scripted?.resume) void scripted.resume.then(end);
  else provider.responses.later(totalMs, end);
};

/** `POST /v1/responses` */
export const createResponse: Handler = (call): Reply => {
  const { provider } = call;
  const body = readJson(call);
  call.applyDirectives(lastUserText(body.input), asText(body.model));
  checkResponsesRequest(body, provider.refusesUnknown);
  const prepared = prepare(call, body);
  const isStored = body.store !== false;
  const isBackground = body.background === true;
  const response = stored(prepared);
  if (isStored) provider.responses.put(response);
  if (isBackground) runInBackground(call, response, prepared);

  if (body.stream !== true) {
    if (isBackground) return jsonReply(prepared.started);
    response.finish(prepared.final);
    return jsonReply(prepared.final, prepared.ledger);
  }
  const stream = createResponseStream({
    started: prepared.started,
    final: prepared.final,
    items: prepared.output,
    onTerminal: () => isBackground || response.finish(prepared.final),
  });
  return streamReply(stream.frames, {
    errorFrames: stream.errorFrames,
    ...(!isBackground && { ledger: prepared.ledger }),
    onEnd: (complete) => {
      if (!complete && !isBackground) response.finish({ ...prepared.started, status: 'failed' });
    },
  });
};
