import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import { callersParam } from '../protocols/callers-param.ts';
import { formatPath, type Path } from '../protocols/conversation/path.ts';
import { SCALAR_PATHS } from '../protocols/conversation/scalar-paths.ts';
import type { TextProtocol } from '../protocols/conversation/text-protocol.ts';

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

/** Numbers as OpenAI's servers and their likes write them: the maximum first, then what was asked for. */
const TOKENS_OPENAI = /maximum context length is (\d+) tokens\D*(\d+)/;
/** Claude Code makes its conversation shorter when it reads these words. */
const TOO_LONG = 'prompt is too long';

const tooLongForMessages = (message: string): string => {
  if (message.includes(TOO_LONG)) return message;
  const [, maximum, asked] = TOKENS_OPENAI.exec(message) ?? [];
  return maximum === undefined || asked === undefined
    ? `${TOO_LONG}: it exceeds the context window of the model`
    : `${TOO_LONG}: ${asked} tokens > ${maximum} maximum`;
};

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
    return caller === 'messages'
      ? new GatewayError(error.code, { ...told, message: tooLongForMessages(error.message) })
      : new GatewayError(error.code, { ...told, path: [...SCALAR_PATHS[caller].turns] });
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
