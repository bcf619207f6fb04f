import type { AuditEntry } from '../../api/types.ts';
import type { Life } from '../traffic/value-link.tsx';

type Action = AuditEntry['action'];

interface ShownAction {
  readonly label: string;
  readonly color: 'teal' | 'indigo' | 'orange' | 'red' | 'gray';
}

/** Every action that the log knows, as people say it. */
export const ACTIONS: Readonly<Record<Action, ShownAction>> = {
  'key.created': { label: 'Key created', color: 'teal' },
  'key.changed': { label: 'Key changed', color: 'indigo' },
  'key.rotated': { label: 'Key rotated', color: 'orange' },
  'key.webhook_secret_rotated': {
    label: 'Webhook secret rotated',
    color: 'orange',
  },
  'key.revoked': { label: 'Key revoked', color: 'red' },
  'team.created': { label: 'Team created', color: 'teal' },
  'team.changed': { label: 'Team changed', color: 'indigo' },
  'team.deleted': { label: 'Team deleted', color: 'red' },
  'channel.rested': { label: 'Channel rested', color: 'orange' },
  'channel.woken': { label: 'Channel woken', color: 'teal' },
  'configuration.changed': { label: 'Configuration changed', color: 'indigo' },
  'configuration.tried': { label: 'Draft tried', color: 'gray' },
  'session.opened': { label: 'Signed in', color: 'gray' },
  'session.ended': { label: 'Session ended', color: 'gray' },
  'person.invited': { label: 'Person invited', color: 'teal' },
  'person.changed': { label: 'Person changed', color: 'indigo' },
  'person.link_created': { label: 'Link created', color: 'orange' },
  'person.link_revoked': { label: 'Link revoked', color: 'orange' },
  'person.password_set': { label: 'Password set', color: 'orange' },
  'person.signed_out': { label: 'Signed out everywhere', color: 'gray' },
  'person.deleted': { label: 'Person deleted', color: 'red' },
  'group_rule.changed': { label: 'Group rule changed', color: 'indigo' },
  'group_rule.deleted': { label: 'Group rule deleted', color: 'red' },
  'content.read': { label: 'Content read', color: 'orange' },
  'content.deleted': { label: 'Content deleted', color: 'red' },
  'content.erased': { label: 'All content deleted', color: 'red' },
};

export const isAction = (text: unknown): text is Action =>
  typeof text === 'string' && Object.hasOwn(ACTIONS, text);

const LIVES: Readonly<Record<string, Life>> = { key: 'keyId', team: 'team', channel: 'channel' };

/** What of the gateway an entry is about; undefined where that has no page. */
export const lifeOf = ({ action }: AuditEntry): Life | undefined => LIVES[action.split('.')[0] ?? ''];

/** The subject's name, where it has one besides its id. */
export function subjectName({ subject, before, after }: AuditEntry): string {
  const name = after?.name ?? before?.name;
  return typeof name === 'string' ? name : subject;
}
