import type { JsonObject } from '../json-value.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import type { Call } from '../requests/call.ts';

/**
 * The body as a form.
 * @throws ProviderError 400 when it is not a form
 */
export const readForm = async ({ request }: Call): Promise<FormData> => {
  const contentType = request.headers['content-type'] ?? '';
  if (!contentType.startsWith('multipart/form-data')) {
    throw invalidRequest(
      `Unsupported content type: '${contentType}'. This API method only accepts 'multipart/form-data' requests.`,
      'unsupported_content_type',
      null,
    );
  }
  try {
    return await request.form();
  } catch {
    throw invalidRequest('Could not parse multipart form', null, null);
  }
};

export type FieldTypes = Readonly<Record<string, 'number' | 'boolean'>>;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** A form's text fields as JSON values; empty ones are absent, and values of another type stay text. */
export const typedFields = (form: FormData, types: FieldTypes): JsonObject => {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (typeof value !== 'string' || value === '') continue;
    const number = Number(value);
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === 'number' && Number.isFinite(number)) fields[name] = number;
    else fields[name] = type === 'boolean' ? (BOOLEANS.get(value) ?? value) : value;
  }
  return fields;
};
