import { GatewayError } from '@gateway/contracts/gateway-error';
import { longestLifeMs } from '@gateway/jobs/catalog';
import type { ReserveAgain } from '@gateway/jobs/records/job-list';
import { identityOf } from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { amountsOf, type Ledger } from '@gateway/metering/ledger/ledger';
import { chargesOf } from '@gateway/metering/meter/account-charges';
import { refusalOf } from '@gateway/metering/meter/refusal';
import type { TeamStore } from '@gateway/metering/teams/team-store';

interface ReserveOptions {
  readonly keys: KeyStore;
  readonly teams: TeamStore;
  readonly ledger: Pick<Ledger, 'reserve'>;
  readonly timeZone: string;
  readonly now: () => number;
}

/** Takes from its key's limits and budget what a job can use that is queued again. */
export const createReserveAgain =
  ({ keys, teams, ledger, timeZone, now }: ReserveOptions): ReserveAgain =>
  async ({ subject, estimate }, kind, id) => {
    const record = await keys.getKey(subject.keyId);
    if (record === undefined || record.revokedAt !== null || record.disabled)
      throw new GatewayError('conflict', `The job's key '${subject.keyId}' no longer works.`);
    const team = record.team === null ? undefined : await teams.getTeam(record.team);
    const { accounts } = identityOf(record, team);
    const again = { ...subject, id, startedAtMs: now() };
    const charges = chargesOf(accounts, subject.model, timeZone);
    const answer = await ledger.reserve({
      subject: again,
      estimate,
      charges,
      leaseMs: longestLifeMs(kind, { isDetached: true }),
    });
    if (answer.ok) return { subject: again, estimate };
    throw refusalOf(answer, amountsOf(estimate)[answer.charge.dimension] ?? 0, now());
  };
