import { Badge, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import type { AuditEntry } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { Facts } from '../facts.tsx';
import { lifeHref } from '../traffic/value-link.tsx';
import { ACTIONS, lifeOf, subjectName } from './actions.ts';
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
          [
            'Who',
            <PageLink key="who" to="/audit" search={{ who: entry.who }}>
              {entry.who}
            </PageLink>,
          ],
          [
            'When',
            <Fragment key="when">
              <Moment at={entry.at} />, <code>{entry.at}</code>
            </Fragment>,
          ],
          ['Subject', <Subject key="of" of={entry} />],
          ['Subject ID', <code key="id">{entry.subject}</code>],
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

/** The way to what was changed, where there is a page for it. */
function Subject({ of: entry }: { of: AuditEntry }) {
  const group = lifeOf(entry);
  return group === undefined ? (
    <code>{entry.subject}</code>
  ) : (
    <PageLink to={lifeHref(group, entry.subject)}>{subjectName(entry)}</PageLink>
  );
}
