import type { Candidate } from '../candidate.ts';

/** Keys and tokens, whole or masked, and the account names that providers put into their messages. */
const KEY_LIKE =
  /\b(?:sk|pk|rk|ak|xai|gsk|hf|pplx)[-_](?:[\w*…-]|\.(?=[\w*.])){6,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bya29\.[\w-]+|\bA[KS]IA[A-Z0-9]{12,}\b|\b(?:key|org|proj|user|asst)[-_][A-Za-z0-9]{16,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+\S+|\barn:aws[\w-]*:[\w-]*:[\w-]*:\d*:[^\s"'`,;)]+/g;

/** Everything of the provider's domain: `api.openai.com` also hides `https://platform.openai.com/account`. */
const hostExpression = (origin: string): RegExp => {
  const { hostname, host } = new URL(origin);
  const isName = /[a-z]/i.test(hostname) && hostname.includes('.') && !hostname.includes(':');
  const domain = isName ? hostname.split('.').slice(-2).join('.') : null;
  return domain === null
    ? new RegExp(
        `(?:https?://)?(?:${literalExpression(host)}|${literalExpression(hostname)}(?![\\w.]))(?:[/?][^\\s"'<>]*)?`,
        'gi',
      )
    : new RegExp(
        `(?:https?://)?(?:[\\w-]+\\.)*${literalExpression(domain)}(?::\\d+)?(?:[/?][^\\s"'<>]*)?`,
        'gi',
      );
};

/** Takes this channel's own secrets out of a text and leaves everything else as it is. */
export const withoutOwnSecrets = (text: string, { account }: Pick<Candidate, 'account'>): string => {
  let clean = text;
  for (const secret of account.secrets.values) clean = clean.replaceAll(secret, '[removed]');
  return clean;
};

/** Removes this channel's own secrets and everything else that looks like a key. For the log. */
export const withoutSecrets = (text: string, candidate: Pick<Candidate, 'account'>): string =>
  withoutOwnSecrets(text, candidate).replace(KEY_LIKE, '[removed]');

/** Makes a provider's message safe for callers: no secrets, no addresses, and the model by the caller's name for it. */
export const cleanMessage = (text: string, candidate: Candidate): string => {
  const clean = withoutSecrets(text, candidate).replace(
    hostExpression(candidate.channel.origin),
    '[upstream]',
  );
  if (candidate.model === candidate.requestedModel || candidate.model === '') return clean;
  const name = new RegExp(`(?<![\\w.-])${literalExpression(candidate.model)}(?![\\w-])`, 'g');
  return clean.replace(name, () => candidate.requestedModel);
};

/** A text as the source of a regular expression that matches exactly this text. */
const literalExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
