import { asList, asObject, isObject, type JsonObject } from '../json-value.ts';
import type { Reply } from '../replies/reply.ts';
import type { RecordedRequest } from '../requests/recorded-request.ts';
import { refusedByModel } from './cloud.ts';

/** What a cloud refuses of the Messages protocol. */
export interface RefusedParts {
  /** Paths of members, `*` for each element. */
  readonly members: readonly string[];
  readonly betas: readonly string[];
  /** How types of tools begin that only Anthropic runs. */
  readonly tools: readonly string[];
}

/** The first path of a body that leads to a value; null if there is none. */
function firstAt(value: unknown, [step, ...rest]: readonly string[], at: readonly string[]): string | null {
  if (step === undefined) return at.join('.');
  if (step === '*') {
    for (const [index, one] of asList(value).entries()) {
      const found = firstAt(one, rest, [...at, String(index)]);
      if (found !== null) return found;
    }
    return null;
  }
  return isObject(value) && step in value ? firstAt(value[step], rest, [...at, step]) : null;
}

/** Null: all of it is taken. */
export function refusedPart(
  { headers }: RecordedRequest,
  body: JsonObject,
  { members, betas, tools }: RefusedParts,
): Reply | null {
  const sent = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim());
  const refused = sent.filter((beta) => betas.includes(beta));
  if (refused.length > 0)
    return refusedByModel(
      `Unexpected value(s) ${refused.map((beta) => `\`${beta}\``).join(', ')} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
    );
  for (const member of members) {
    const found = firstAt(body, member.split('.'), []);
    if (found !== null) return refusedByModel(`${found}: Extra inputs are not permitted`);
  }
  for (const tool of asList(body.tools)) {
    const { type } = asObject(tool);
    if (typeof type === 'string' && tools.some((begin) => type.startsWith(begin)))
      return refusedByModel(`tool type '${type}' is not supported for this model`);
  }
  return null;
}
