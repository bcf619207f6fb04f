import { isObject, type JsonObject } from '../json-value.ts';
import { invalidMessages, invalidRequest } from '../replies/provider-error.ts';
import type { Call } from '../requests/call.ts';

/**
 * The body as a JSON object.
 * @throws ProviderError 400 for another content type, malformed JSON, or JSON that is not an object
 */
export const readJson = ({ request, dialect }: Call): JsonObject => {
  const contentType = request.headers['content-type'] ?? '';
  if (dialect === 'openai' && !contentType.startsWith('application/json')) {
    throw invalidRequest(
      `Unsupported content type: '${contentType}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${contentType}'. Please try again with a supported content type.`,
      'unsupported_content_type',
      null,
    );
  }
  const refuse = (detail: string) =>
    dialect === 'anthropic'
      ? invalidMessages(`The request body is not valid JSON: ${detail}`)
      : invalidRequest('We could not parse the JSON body of your request.', null, null);
  try {
    const body: unknown = request.json();
    if (isObject(body)) return body;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : '');
  }
  throw refuse('expected an object');
};
