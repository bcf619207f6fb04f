import type { ProviderError } from './provider-error.ts';

/** Who can correct a 404: the operator, if the channel lacks the model or the path, else the caller. */
export type NotFoundFault = 'channel' | 'caller';

interface NotFoundRule {
  readonly fault: NotFoundFault;
  readonly member: 'code' | 'param' | 'detail' | 'message';
  readonly pattern: RegExp;
}

/**
 * Providers' words for the missing object. The first rule that matches decides.
 *
 * Models: OpenAI `model_not_found`, Azure `DeploymentNotFound`, Anthropic "model: x", vLLM "The model `x` does not
 * exist.", Ollama 'model "x" not found, try pulling it first', Gemini "models/x is not found", OpenRouter "No endpoints
 * found for x". Paths: OpenAI "Invalid URL (POST /v1/x)", FastAPI "Not Found", llama.cpp "File Not Found", Azure
 * "Resource not found", Go's "404 page not found", Express' "Cannot POST /x", Kong "no Route matched".
 */
const RULES: readonly NotFoundRule[] = [
  { fault: 'channel', member: 'code', pattern: /model|deployment|unknown_url/i },
  { fault: 'channel', member: 'param', pattern: /^model$/ },
  { fault: 'channel', member: 'message', pattern: /^models?(?:: |\/)/i },
  {
    fault: 'channel',
    member: 'message',
    pattern:
      /\b(?:the|this|that|no such|unknown|invalid|requested|selected|an?) (?:api )?(?:model|deployment|engine)\b/i,
  },
  {
    fault: 'channel',
    member: 'message',
    pattern: /^model ["'`]?\S+ (?:was )?(?:not found|is not|does not)/i,
  },
  { fault: 'channel', member: 'message', pattern: /\bno (?:allowed )?(?:endpoints|providers)\b/i },
  {
    fault: 'channel',
    member: 'message',
    pattern: /^(?:error:? )?(?:404 )?(?:(?:page|file|resource|route|endpoint|url|path) )?not found[.!]?$/i,
  },
  {
    fault: 'channel',
    member: 'message',
    pattern:
      /^(?:invalid url|unknown (?:request )?url|cannot (?:get|post|delete) \/|no route|unexpected endpoint)/i,
  },
  { fault: 'channel', member: 'message', pattern: /\b(?:organi[sz]ation|project|account|workspace)\b/i },
  { fault: 'caller', member: 'detail', pattern: /./ },
  { fault: 'caller', member: 'code', pattern: /_not_found$/ },
  { fault: 'caller', member: 'param', pattern: /./ },
  {
    fault: 'caller',
    member: 'message',
    pattern:
      /\b(?:files?|vector[ _]?stores?|items?|conversations?|responses?|messages?|threads?|containers?|prompts?|skills?|batch(?:es)?|uploads?|images?|documents?|attachments?|voices?|connectors?|tools?|caches?|objects?|profiles?)\b/i,
  },
  // A quoted name, or an id such as vs_68a1b2c3.
  { fault: 'caller', member: 'message', pattern: /["'`][^"'`]+["'`]|\b[a-z]{2,12}[-_][A-Za-z0-9]{6,}/ },
];

const matches = ({ member, pattern }: NotFoundRule, error: ProviderError): boolean =>
  pattern.test(error[member] ?? '');

/** Classifies a 404. One that names no object is about a path: proxies and small servers send it. */
export function notFoundFault(error: ProviderError, model: string): NotFoundFault {
  const rule = RULES.find((one) => matches(one, error));
  const namesModel = rule?.member === 'message' && model !== '' && error.message.includes(model);
  return namesModel ? 'channel' : (rule?.fault ?? 'channel');
}
