import { GatewayError } from '@gateway/contracts/gateway-error';
import { BatchEmbedContentsRequest, EmbedContentRequest } from '@gateway/contracts/google/embed-content';
import { validate } from '@gateway/service-kit/request/validate';
import type { ModelCallServices } from '../call/call-model.ts';
import type { SentRequest } from '../call/sent-request.ts';
import { vectorsCall } from './embeddings-call.ts';

/** The words of `input_type` that say the same as Google's. */
const PURPOSES: ReadonlyMap<string, string> = new Map([
  ['RETRIEVAL_QUERY', 'query'],
  ['RETRIEVAL_DOCUMENT', 'document'],
]);

type GoogleSent = SentRequest & { readonly model: string };

/**
 * A request for one vector, in Google's form.
 *
 * @throws {GatewayError} for what the endpoint refuses
 */
export function embedContentCall(services: Pick<ModelCallServices, 'upstream'>, sent: GoogleSent) {
  const request = validate(EmbedContentRequest, sent.value);
  return vectorsCall(services, { ...sent, face: 'google-one', ...orderOf(sent.model, [request], () => []) });
}

/** The same for many. @throws {GatewayError} as `embedContentCall` */
export function batchEmbedContentsCall(services: Pick<ModelCallServices, 'upstream'>, sent: GoogleSent) {
  const { requests } = validate(BatchEmbedContentsRequest, sent.value);
  return vectorsCall(services, {
    ...{ ...sent, face: 'google' },
    ...orderOf(sent.model, requests, (at) => ['requests', at]),
  });
}

type Path = (string | number)[];

function orderOf(model: string, requests: readonly EmbedContentRequest[], pathOf: (at: number) => Path) {
  const wishes = requests.map((request) => ({
    taskType: request.taskType ?? request.task_type ?? undefined,
    outputDimensionality: request.outputDimensionality ?? request.output_dimensionality ?? undefined,
  }));
  const [first] = wishes;
  for (const name of ['taskType', 'outputDimensionality'] as const) {
    const other = wishes.findIndex((wish) => wish[name] !== first?.[name]);
    if (other >= 0)
      throw new GatewayError('invalid_value', {
        path: [...pathOf(other), name],
        message: `'${name}' must be the same in all requests of a batch. Send those with another one in a batch of their own.`,
      });
  }
  const { taskType, outputDimensionality } = first ?? {};
  const unknown = new Set(requests.flatMap((request) => Object.keys(request)));
  for (const name of KNOWN) unknown.delete(name);
  return {
    order: {
      model,
      input: requests.map((request, at) => textOf(request, pathOf(at))),
      ...(taskType !== undefined && { input_type: PURPOSES.get(taskType) ?? taskType }),
      ...(outputDimensionality !== undefined && { dimensions: outputDimensionality }),
    },
    google: {
      titles: requests.map(({ title }) => title ?? undefined),
      isOwnPurpose: taskType !== undefined && !PURPOSES.has(taskType),
      unknown: [...unknown],
    },
  };
}

/** `model` is in the path as well. */
const KNOWN = [
  ...['model', 'content', 'title', 'taskType', 'task_type'],
  ...['outputDimensionality', 'output_dimensionality'],
];

/** The texts of a content are one. @throws {GatewayError} where it has something else, or nothing */
function textOf({ content }: EmbedContentRequest, path: Path): string {
  const parts = Array.isArray(content.parts) ? content.parts : [content.parts];
  const texts = parts.map((part, at) => {
    const { text } = part;
    if (typeof text === 'string') return text;
    throw new GatewayError('invalid_value', {
      path: [...path, 'content', 'parts', at],
      message: 'Only texts are embedded. Send parts with `text` alone.',
    });
  });
  const whole = texts.join('\n');
  if (whole.trim() !== '') return whole;
  throw new GatewayError('invalid_value', {
    path: [...path, 'content', 'parts'],
    message: 'There is no text to embed in this content.',
  });
}
