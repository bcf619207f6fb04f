import { routeSpeaks } from '../configuration/build/route-speaks.ts';
import type { Account, Channel } from '../configuration/configuration.ts';
import type { Protocol } from '../protocol.ts';
import { requestPath } from '../requests/operation-path.ts';
import { askAccount, type Failure } from './ask-account.ts';

/** What an account's provider says of one of its models. */
export type TriedModel =
  /** It answered a request for that model. */
  | { readonly outcome: 'accepted' }
  /** The model is none that is asked for a text, so nothing was sent. */
  | { readonly outcome: 'unlisted' }
  | Failure;

interface AskedModel {
  readonly model: string;
  /** Default: what its id says. */
  readonly speaks?: readonly Protocol[];
}

type TextProtocol = 'messages' | 'converse' | 'gemini' | 'responses' | 'chat';

/** The least that a model can be asked. What thinks before it answers counts that as well, and some refuse a lower bound. */
const MOST_TOKENS = 16;
const messages = [{ role: 'user', content: 'Hi' }];

const SMALLEST: Readonly<Record<TextProtocol, object>> = {
  messages: { messages, max_tokens: 1 },
  converse: {
    messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
    inferenceConfig: { maxTokens: 1 },
  },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    generationConfig: { maxOutputTokens: MOST_TOKENS },
  },
  chat: { messages },
  responses: { input: 'Hi', max_output_tokens: MOST_TOKENS, store: false },
};
const TEXT_PROTOCOLS = Object.keys(SMALLEST).filter((name): name is TextProtocol => name in SMALLEST);

/**
 * Asks one text model for a few tokens, which costs next to nothing: where a provider lists no models, nothing else shows that the account
 * can use them. Never rejects, and takes 10 s at most.
 */
export async function tryModel(
  channel: Channel,
  account: Account,
  { model, speaks = routeSpeaks(channel, {}, model) ?? [] }: AskedModel,
): Promise<TriedModel> {
  const protocol = TEXT_PROTOCOLS.find((name) => speaks.includes(name) && channel.paths[name] !== undefined);
  if (protocol === undefined) return { outcome: 'unlisted' };
  const request = { operation: protocol, streamed: false };
  const { envelope, maxTokensMember } = { ...channel.quirks, ...channel.quirksOf[protocol] };
  // A model that the path names is not in the body.
  const named = typeof channel.paths[protocol] === 'string' ? { model } : {};
  const version = envelope ? { anthropic_version: envelope.version } : {};
  const bound = protocol === 'chat' ? { [maxTokensMember ?? 'max_tokens']: MOST_TOKENS } : {};
  const reply = await askAccount(channel, account, {
    method: 'POST',
    path: requestPath({ channel, model }, request, false),
    body: JSON.stringify({ ...named, ...version, ...SMALLEST[protocol], ...bound }),
  });
  return reply.outcome === 'answered' ? { outcome: 'accepted' } : reply;
}
