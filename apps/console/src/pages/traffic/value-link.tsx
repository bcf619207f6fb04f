import { PageLink } from '../../parts/page/page-link.tsx';
import { KeyName } from './key-name.tsx';
import { type Group, valueLabel } from './usage-query.ts';

/** What has a page of its own, and the pages that its page is one of. */
export const LIVES = {
  keyId: '/keys',
  team: '/teams',
  model: '/models',
  channel: '/channels',
} as const satisfies Partial<Record<Group, string>>;
export type Life = keyof typeof LIVES;

export const isLife = (group: Group): group is Life => Object.hasOwn(LIVES, group);

/** The address of a key, a team, a model or a channel. */
export const lifeHref = (group: Life, value: string): string =>
  `${LIVES[group]}/${encodeURIComponent(value)}`;

interface ValueLinkProps {
  readonly group: Group;
  /** A key by its id, all others by their names. The empty one is none. */
  readonly value: string;
  readonly look?: 'link' | 'plain';
}

/** What usage is grouped by, as people name it; with a link to its page where it has one. */
export function ValueLink({ group, value, look = 'link' }: ValueLinkProps) {
  if (!isLife(group) || value === '') return valueLabel(group, value);
  return (
    <PageLink to={lifeHref(group, value)} size="inherit" look={look}>
      {group === 'keyId' ? <KeyName id={value} /> : value}
    </PageLink>
  );
}
