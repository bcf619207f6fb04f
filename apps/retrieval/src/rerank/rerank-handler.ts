import type { IncomingMessage } from 'node:http';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { RERANK_SEARCH, RerankRequest } from '@gateway/contracts/rerank';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { callModel } from '@gateway/model-calls/call/call-model';
import type { Part } from '@gateway/model-calls/call/send-parts';
import { unsupportedMember } from '@gateway/model-calls/call/unsupported-member';
import type { Caller } from '@gateway/model-service/caller';
import { isStrict } from '@gateway/model-service/jobs/job-wishes';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import { modelFor } from '@gateway/upstream/model-for';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import type { RetrievalService } from '../retrieval-service.ts';
import { documentTexts } from './documents.ts';
import { RERANK_FORMS } from './forms/forms.ts';
import type { Ranked } from './forms/rerank-form.ts';
import { largestRerank, reportedRerank, usualRerank } from './rerank-usage.ts';

/** Ten thousand documents that are objects of a few fields. */
const MAX_VALUES = 60_000;

/** Members that the gateway sees to itself, or that are no loss. */
const SEEN_TO = new Set(['model', 'query', 'documents', 'top_n', 'return_documents', 'rank_fields']);

/** `POST /v1/rerank` and `/v2/rerank`: documents, sorted by how well they answer a query. */
export const rerankHandler =
  (service: RetrievalService) =>
  async (request: IncomingMessage, caller: Caller, entry: PendingEntry | undefined): Promise<void> => {
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const identity = identityOf(request);
    const body = await readJsonBody(request, { maxBytes, maxDepth, maxValues: MAX_VALUES });
    const order = validate(RerankRequest, body.value);
    const documents = documentTexts(order);
    const model = modelFor(upstream, { name: order.model, protocols: ['rerank'], identity });
    const candidates = upstream.candidates({ model, protocol: 'rerank' });
    const texts = { query: order.query, documents };
    Object.assign(context.line, { model: model.name, inputs: documents.length });

    const part: Part<readonly Ranked[]> = {
      largest: largestRerank(model, texts),
      usual: usualRerank(model, texts),
      async request(candidate) {
        const form = formOf(candidate);
        const dropped = Object.keys(order).filter(
          (name) => !SEEN_TO.has(name) && !form.takes.includes(name) && (order[name] ?? null) !== null,
        );
        const [lost] = dropped;
        if (lost !== undefined && isStrict(request)) return unsupportedMember(lost);
        return {
          dropped,
          request: {
            operation: 'rerank',
            method: 'POST',
            ...(candidate.route.quirks.rerankForm !== 'jina' && { translated: true as const }),
            headers: request.headers,
            body: JSON.stringify(form.write({ request: order, documents, model: candidate.model })),
          },
        };
      },
      async read(bytes, candidate) {
        const form = formOf(candidate);
        const reply = jsonIn(bytes.toString());
        const best = bestOf(form.rankedIn(reply), documents.length, order.top_n ?? documents.length);
        return {
          reported: reportedRerank(model, form.usageIn(reply)),
          result: best ?? new UnreadableReply('The upstream did not answer with scores of the documents.'),
        };
      },
    };
    await callModel(service, {
      ...{ endpoint: 'rerank', model, candidates, parts: [part], caller, context, identity, entry },
      ...{ names: {}, bytes: body.bytes },
      write: ({ results, consumption: { inputTokens, toolCalls = {} } }) => {
        const searches = toolCalls[RERANK_SEARCH];
        const reply = {
          id: context.requestId,
          model: model.name,
          results: results.flat().map(({ index, score }) => ({
            index,
            relevance_score: score,
            ...(order.return_documents === true && { document: shownDocument(order.documents[index]) }),
          })),
          meta: {
            api_version: { version: '2' },
            ...(searches !== undefined && { billed_units: { search_units: searches } }),
          },
          usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
        };
        return Buffer.from(JSON.stringify(reply));
      },
    });
  };

const formOf = ({ route }: Pick<Candidate, 'route'>) => RERANK_FORMS[route.quirks.rerankForm];

const shownDocument = (document: RerankRequest['documents'][number] | undefined) =>
  typeof document === 'string' ? { text: document } : document;

/** The best first, as many as are wanted; null where a score is missing, or not of a document. */
function bestOf(ranked: readonly Ranked[] | null, count: number, wanted: number): readonly Ranked[] | null {
  if (ranked === null) return null;
  const known = new Set(ranked.map(({ index }) => index));
  const most = Math.min(wanted, count);
  if (known.size !== ranked.length || ranked.length < most || ranked.some(({ index }) => index >= count))
    return null;
  return ranked.toSorted((one, other) => other.score - one.score).slice(0, most);
}
