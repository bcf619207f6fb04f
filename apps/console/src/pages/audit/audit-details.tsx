import { Anchor, Badge, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { AuditEntry } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { Moment } from '../../parts/moment.tsx';
import { Facts } from '../facts.tsx';
import { ACTIONS, subjectName } from './actions.ts';
import classes from './audit-details.module.css';
import { auditEntryQuery } from './audit-query.ts';
import { type Change, changesOf } from './changes.ts';

interface AuditDetailsProps {
  readonly id: string;
  /** The entry, where the list has it already. */
  readonly known: AuditEntry | undefined;
  readonly onClose: () => void;
}

/** One change: who made it and when, and each member before and after. */
export function AuditDetails({ id, known, onClose }: AuditDetailsProps) {
  const {
    data: entry = known,
    error,
    refetch,
  } = useQuery({ ...auditEntryQuery(id), enabled: known === undefined });
  return (
    <DetailsDrawer
      of={entry}
      kind="Change"
      titleOf={subjectName}
      badge={({ action }) => (
        <Badge variant="dot" size="sm" color={ACTIONS[action].color}>
          {ACTIONS[action].label}
        </Badge>
      )}
      error={error}
      onRetry={() => void refetch()}
      onClose={onClose}
    >
      {(one) => <Shown of={one} />}
    </DetailsDrawer>
  );
}

function Shown({ of: entry }: { of: AuditEntry }) {
  const changes = changesOf(entry);
  return (
    <Stack>
      <Facts
        of={[
          ['Who', entry.who],
          [
            'When',
            <Fragment key="when">
              <Moment at={entry.at} />, <code>{entry.at}</code>
            </Fragment>,
          ],
          ['Subject', <Subject key="of" of={entry} />],
        ]}
      />
      {entry.requestId !== null && (
        <div>
          <Text size="xs" c="dimmed" mb={4}>
            The request to the admin service, as in its log
          </Text>
          <CopyField label="Request ID" value={entry.requestId} />
        </div>
      )}
      <Title order={2} size="h5">
        {entry.before === null ? 'Set to' : entry.after === null ? 'Previously' : 'Before and after'}
      </Title>
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          No settings changed. Secrets are never written to this log.
        </Text>
      ) : (
        <ul className={classes.changes}>
          {changes.map((change) => (
            <ChangedMember key={change.path} of={change} />
          ))}
        </ul>
      )}
    </Stack>
  );
}

const ChangedMember = ({ of: { path, before, after } }: { of: Change }) => (
  <li className={classes.change}>
    <Text size="xs" c="dimmed" ff="monospace" className={classes.path}>
      {path}
    </Text>
    {before !== undefined && <del className={classes.before}>{before}</del>}
    {after !== undefined && <ins className={classes.after}>{after}</ins>}
  </li>
);

/** The pages of what has one, by the first word of the action. */
const PLACES: Readonly<Record<string, (subject: string) => string>> = {
  key: (id) => `/keys?key=${encodeURIComponent(id)}`,
  team: (name) => `/teams?team=${encodeURIComponent(name)}`,
  channel: () => '/channels',
};

/** The way to what was changed, where there is a page for it. */
function Subject({ of: { action, subject } }: { of: AuditEntry }): ReactNode {
  const [kind = ''] = action.split('.');
  const place = PLACES[kind]?.(subject);
  if (place === undefined) return <code>{subject}</code>;
  return (
    <Anchor component={Link} to={place} inherit ff="monospace">
      {subject}
    </Anchor>
  );
}
