import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { betasOf } from '../protocols/messages/request/betas.ts';

/** Platforms' words for a beta that they, or this model of theirs, do not have. Bedrock's do not say which. */
const REFUSES_BETA = /\binvalid beta flag\b|\bunexpected value\(s\).*\banthropic-beta\b/is;

/** The betas of a request without which the refusing channel may take it; all of them where it names none. */
export function betasRefusedIn(refusal: unknown, headers: IncomingHttpHeaders): readonly string[] {
  const betas = betasOf(headers);
  if (betas.length === 0 || !(refusal instanceof GatewayError) || refusal.code !== 'upstream_rejected')
    return [];
  const words = `${refusal.message} ${refusal.options.relay?.body ?? ''}`;
  if (!REFUSES_BETA.test(words)) return [];
  const named = betas.filter((beta) => words.includes(beta));
  return named.length === 0 ? betas : named;
}
