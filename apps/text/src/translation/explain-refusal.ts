import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { SCALAR_PATHS, scalarAt } from '../neutral/scalar-paths.ts';
import { formatPath, type Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/** The path of a function's schema within its tool. */
const SCHEMA_PATHS: Readonly<Record<TextProtocol, Path>> = {
  responses: ['parameters'],
  messages: ['input_schema'],
  chat: ['function', 'parameters'],
  gemini: ['functionDeclarations', 0, 'parametersJsonSchema'],
};

/** Those whose tools stand in the caller's order, by which a path can be found again. */
const { gemini: _, ...LISTED } = SCHEMA_PATHS;
const LISTED_TOOLS: Readonly<Partial<Record<ConversationProtocol, Path>>> = {
  ...LISTED,
  converse: ['toolSpec', 'inputSchema', 'json'],
};

/** The path in the caller's request of a path in the translated one; null where there is none that is certainly the same. */
export function callersPath(path: Path, caller: TextProtocol, target: ConversationProtocol): Path | null {
  const param = callersParam(formatPath(path), target, caller);
  if (param !== null) return [param];
  const [tools, index, ...rest] = path;
  const schema = LISTED_TOOLS[target];
  if (schema === undefined) return tools === 'tools' ? ['tools'] : null;
  const isSchema = tools === 'tools' && schema.every((step, at) => rest[at] === step);
  if (!isSchema || typeof index !== 'number') return null;
  // All functions are in one entry there.
  if (caller === 'gemini') return ['tools', 0, 'functionDeclarations', index];
  return ['tools', index, ...SCHEMA_PATHS[caller], ...rest.slice(schema.length)];
}

/** An upstream's refusal of a translated request, in the caller's protocol: with its paths and its wording. */
export function explainRefusal(
  error: GatewayError,
  caller: TextProtocol,
  target: ConversationProtocol,
): GatewayError {
  if (error.source !== 'upstream') return error;
  const { path, ...options } = error.options;
  const kept = { ...options, cause: error.options.cause };
  if (error.code === 'context_length_exceeded') {
    const turns = caller === 'messages' ? {} : { path: [...SCALAR_PATHS[caller].turns] };
    return new GatewayError(error.code, { ...kept, ...turns });
  }
  if (path === undefined) return error;
  const own = callersPath(path, caller, target);
  const shown: GatewayErrorOptions = { ...kept, message: withoutPath(error.message, path) };
  return new GatewayError(error.code, own === null ? shown : { ...shown, path: [...own] });
}

/** Anthropic's messages begin with the path, which is another one for this caller. */
const withoutPath = (message: string, path: Path): string => {
  const prefix = `${path.join('.')}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
};

/**
 * An upstream's `param` (`max_output_tokens`) as the caller named it (`max_tokens`). Null where no
 * member of the caller's is the same: a path into the translated request would mislead.
 */
export function callersParam(
  param: string,
  upstream: ConversationProtocol,
  caller: TextProtocol,
): string | null {
  const scalar = scalarAt(upstream, param);
  return scalar === undefined ? null : formatPath(SCALAR_PATHS[caller][scalar]);
}
