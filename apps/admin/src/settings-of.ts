import type { ShownKey } from '@gateway/metering/keys/key-record';
import type { ShownTeam } from '@gateway/metering/teams/team-record';

/** The members that are set, in the form of a request for the same key or team. */
const present = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

export const keySettingsOf = ({
  id: _id,
  createdAt: _createdAt,
  revokedAt: _revokedAt,
  oldSecretUntil: _oldSecretUntil,
  webhookSecretMadeAt: _webhookSecretMadeAt,
  oldWebhookSecretUntil: _oldWebhookSecretUntil,
  ...settings
}: ShownKey) => present(settings);

export const teamSettingsOf = ({ createdAt: _createdAt, ...settings }: ShownTeam) => present(settings);
