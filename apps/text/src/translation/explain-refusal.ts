import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import { SCALAR_PATHS } from '../conversation/scalar-paths.ts';
import { formatPath, type Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { callersParam } from './callers-param.ts';

/** Where a function's schema stands within its tool. */
const SCHEMA_PLACES: Readonly<Record<TextProtocol, Path>> = {
  responses: ['parameters'],
  messages: ['input_schema'],
  chat: ['function', 'parameters'],
};

/** The caller's own place for a place of the translated request; null where there is none that is certainly the same. */
export function callersPath(path: Path, caller: TextProtocol, target: TextProtocol): Path | null {
  const param = callersParam(formatPath(path), target, caller);
  if (param !== null) return [param];
  const [tools, index, ...rest] = path;
  const schema = SCHEMA_PLACES[target];
  const isSchema = tools === 'tools' && schema.every((step, at) => rest[at] === step);
  if (!isSchema || typeof index !== 'number') return null;
  return ['tools', index, ...SCHEMA_PLACES[caller], ...rest.slice(schema.length)];
}

/** An upstream's refusal of a translated request, as it reads under the caller's protocol: its places and its words. */
export function explainRefusal(
  error: GatewayError,
  caller: TextProtocol,
  target: TextProtocol,
): GatewayError {
  if (error.source !== 'upstream') return error;
  const { path, ...options } = error.options;
  const told = { ...options, cause: error.options.cause };
  if (error.code === 'context_length_exceeded') {
    const turns = caller === 'messages' ? {} : { path: [...SCALAR_PATHS[caller].turns] };
    return new GatewayError(error.code, { ...told, ...turns });
  }
  if (path === undefined) return error;
  const own = callersPath(path, caller, target);
  const placed: GatewayErrorOptions = { ...told, message: withoutPlace(error.message, path) };
  return new GatewayError(error.code, own === null ? placed : { ...placed, path: [...own] });
}

/** Anthropic's messages begin with the place, which is another one for this caller. */
const withoutPlace = (message: string, path: Path): string => {
  const prefix = `${path.join('.')}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
};
