import type { Attempt } from './reply.ts';

/** A model may have a hundred routes, and all of them may be busy. */
const MAX_SHOWN = 16;

/** The name of the account of a channel with one key. */
const ONLY_ACCOUNT = 'default';

/** Of an attempt, what the header says. */
type Facts = Omit<Attempt, 'route' | 'waitedMs' | 'detail'>;

/** Names of channels and accounts are configured, and safe inside quotes; outcomes are tokens. */
const memberOf = ({ channel, account, outcome, status, durationMs, isHedge }: Facts): string => {
  const answered = status === null ? '' : `;status=${status}`;
  const hedge = isHedge ? ';hedge' : '';
  const by = account === ONLY_ACCOUNT ? '' : `;account="${account}"`;
  return `"${channel}"${by};outcome=${outcome}${answered};ms=${Math.round(durationMs)}${hedge}`;
};

/**
 * The attempts for a request in the order in which they ended, such as
 * `"one";outcome=rate-limited;status=429;ms=81, "two";outcome=ok;status=200;ms=412`. Of many, those in the middle are
 * counted only: `more;count=5`. Null where there was none.
 */
export function attemptsHeader(attempts: readonly Facts[]): string | null {
  if (attempts.length === 0) return null;
  if (attempts.length <= MAX_SHOWN) return attempts.map(memberOf).join(', ');
  const first = attempts.slice(0, MAX_SHOWN / 2);
  const last = attempts.slice(-MAX_SHOWN / 2);
  const more = `more;count=${attempts.length - MAX_SHOWN}`;
  return [...first.map(memberOf), more, ...last.map(memberOf)].join(', ');
}

/** Whether the header tells more than the channel: there were several attempts, or one by an account among others, or none answered. */
export function saysMore(attempts: readonly Facts[]): boolean {
  const [first] = attempts;
  if (first === undefined) return false;
  return attempts.length > 1 || first.outcome !== 'ok' || first.account !== ONLY_ACCOUNT;
}

/** An attempt as the header names it. */
export interface ShownAttempt {
  readonly channel: string;
  readonly account: string;
  readonly outcome: string;
  /** Null: the provider did not answer. */
  readonly status: number | null;
  readonly ms: number | null;
  readonly isHedge: boolean;
}

const MEMBER = /^"([^"]*)"(.*)$/;

/** Reads what `attemptsHeader` wrote; what cannot be read is left out, and so is a count of what the header left out. */
export const readAttempts = (header: string): ShownAttempt[] =>
  header.split(', ').flatMap((member) => {
    const [, channel, rest = ''] = MEMBER.exec(member) ?? [];
    if (channel === undefined) return [];
    const parameters = new Map(
      rest.split(';').map((parameter) => {
        const [name = '', value = ''] = parameter.split('=');
        return [name, value.replaceAll('"', '')];
      }),
    );
    const numberAt = (name: string): number | null => {
      const value = parameters.get(name);
      return value === undefined || value === '' || Number.isNaN(Number(value)) ? null : Number(value);
    };
    return [
      {
        channel,
        account: parameters.get('account') ?? ONLY_ACCOUNT,
        outcome: parameters.get('outcome') ?? '',
        status: numberAt('status'),
        ms: numberAt('ms'),
        isHedge: parameters.has('hedge'),
      },
    ];
  });

/** An attempt that the header need not name: the channel's only account answered at once. */
export const answeredAtOnce = (channel: string, ms: number | null): ShownAttempt => ({
  channel,
  account: ONLY_ACCOUNT,
  outcome: 'ok',
  status: null,
  ms,
  isHedge: false,
});
