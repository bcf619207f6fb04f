import { createCompletion } from '../chat/create-completion.ts';
import { createTextCompletion } from '../chat/create-text-completion.ts';
import type { JsonObject } from '../json-value.ts';
import { createMessage } from '../messages/create-message.ts';
import type { Provider } from '../provider.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { createCall, type Handler, RepeatCounter } from '../requests/call.ts';
import { RecordedRequest } from '../requests/recorded-request.ts';
import { createResponse } from '../responses/create-response.ts';
import { createEmbeddings } from '../retrieval/create-embeddings.ts';
import { createModeration } from '../retrieval/create-moderation.ts';
import type { SimulatedBatch } from './batch-store.ts';

/** What the lines of batches may be for. */
export const LINE_HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ['/v1/chat/completions', createCompletion],
  ['/v1/responses', createResponse],
  ['/v1/messages', createMessage],
  ['/v1/embeddings', createEmbeddings],
  ['/v1/completions', createTextCompletion],
  ['/v1/moderations', createModeration],
]);

interface LineAnswer {
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
}

async function answerLine(provider: Provider, path: string, body: JsonObject): Promise<LineAnswer> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const request = new RecordedRequest({ method: 'POST', url: path, headers, rawHeaders: [] });
  request.markReceived(Buffer.from(JSON.stringify(body)));
  const requestId = provider.ids.next('req_');
  const dialect = path === '/v1/messages' ? 'anthropic' : 'openai';
  const repeats = new RepeatCounter();
  const call = createCall({
    provider,
    request,
    requestId,
    dialect,
    params: [],
    scripted: undefined,
    repeats,
  });
  try {
    const handler = LINE_HANDLERS.get(path);
    if (handler === undefined)
      throw new ProviderError({ status: 404, message: `Invalid URL (POST ${path})` });
    const { status, chunks, ledger } = await handler(call);
    if (ledger) provider.ledger.add({ ...ledger, model: `${ledger.model} (batch)` });
    return { status, requestId, body: JSON.parse([...chunks].join('')) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const shown =
      dialect === 'anthropic'
        ? { type: 'error', error: error.anthropicError(), request_id: requestId }
        : { error: error.openaiError() };
    return { status: error.status, requestId, body: shown };
  }
}

/** Gets a batch a step on: what is looked at changes. */
export async function advance(provider: Provider, batch: SimulatedBatch): Promise<void> {
  const { plan } = provider.batches;
  if (batch.status === 'validating') {
    batch.status = batch.problems.length > 0 ? 'failed' : 'in_progress';
    if (batch.status === 'failed') batch.endedAt = provider.nowSeconds();
    return;
  }
  const isStopped = batch.status === 'cancelling';
  if (batch.status !== 'in_progress' && !isStopped) return;
  if (plan.isHeld && !isStopped) return;
  const maxRun = isStopped && plan.maxRun === Number.POSITIVE_INFINITY ? 0 : plan.maxRun;
  const isWhole = batch.lines.length <= maxRun;
  const ending = isStopped ? 'cancelled' : isWhole ? 'completed' : 'expired';
  batch.status = 'finalizing';
  const answers: { readonly customId: string; readonly answer: LineAnswer | null }[] = [];
  for (const [index, { customId, body }] of batch.lines.entries()) {
    const answer = index < maxRun ? await answerLine(provider, batch.endpoint, body) : null;
    if (answer !== null) batch[answer.status < 300 ? 'succeeded' : 'errored'] += 1;
    answers.push({ customId, answer });
  }
  // The order is free, and is another one.
  answers.reverse();
  if (batch.inputFileId === null) putMessages(provider, batch, answers, isStopped ? 'canceled' : 'expired');
  else putFiles(provider, batch, answers, isStopped);
  batch.endedAt = provider.nowSeconds();
  batch.status = ending;
}

type Answers = readonly { readonly customId: string; readonly answer: LineAnswer | null }[];

const tampered = (provider: Provider, lines: readonly string[]): string =>
  (provider.batches.plan.tamper?.(lines) ?? lines).map((line) => `${line}\n`).join('');

function putFiles(provider: Provider, batch: SimulatedBatch, answers: Answers, isStopped: boolean): void {
  const lineOf = (customId: string, response: JsonObject | null, error: JsonObject | null) =>
    JSON.stringify({ id: provider.ids.next('batch_req_'), custom_id: customId, response, error });
  const output: string[] = [];
  const errors: string[] = [];
  for (const { customId, answer } of answers) {
    if (answer === null) {
      const message = 'This request could not be executed before the completion window expired.';
      // Of one that was cancelled there is nothing.
      if (!isStopped) errors.push(lineOf(customId, null, { code: 'batch_expired', message }));
      continue;
    }
    const { status, requestId, body } = answer;
    const line = lineOf(customId, { status_code: status, request_id: requestId, body }, null);
    (status < 300 ? output : errors).push(line);
  }
  const put = (name: string, lines: readonly string[]): string | null => {
    if (lines.length === 0) return null;
    const id = provider.ids.next('file-');
    provider.batches.files.set(id, {
      id,
      filename: `${batch.id}_${name}.jsonl`,
      purpose: 'batch_output',
      bytes: Buffer.from(tampered(provider, lines)),
      createdAt: provider.nowSeconds(),
      expiresAt: null,
    });
    return id;
  };
  batch.outputFileId = put('output', output);
  batch.errorFileId = put('error', errors);
}

function putMessages(
  provider: Provider,
  batch: SimulatedBatch,
  answers: Answers,
  notRun: 'canceled' | 'expired',
): void {
  const lines = answers.map(({ customId, answer }) => {
    const result =
      answer === null
        ? { type: notRun }
        : answer.status < 300
          ? { type: 'succeeded', message: answer.body }
          : { type: 'errored', error: answer.body };
    return JSON.stringify({ custom_id: customId, result });
  });
  batch.results = tampered(provider, lines);
}
