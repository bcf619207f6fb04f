import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import type { Person, PersonLink } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { Facts, Names } from '../facts.tsx';
import { SEND_EMAIL, type ShownLink } from './link-dialog.tsx';
import { personChanged } from './people-query.ts';
import { PersonForm, type PersonValues } from './person-form.tsx';

interface PersonPanelProps {
  readonly of: Person;
  readonly onLink: (shown: ShownLink) => void;
  readonly onDeleted: () => void;
}

type Act = 'link' | 'revoke-link' | 'sign-out' | 'disable' | 'delete';

interface ShownAct {
  readonly title: (name: string) => string;
  readonly action: string;
  readonly isDangerous?: true;
  readonly about: string;
}

const ACTS: Readonly<Record<Act, ShownAct>> = {
  link: {
    title: (name) => `Create a link for ${name}?`,
    action: 'Create link',
    about:
      'Anyone who opens it can set a new password. An earlier link stops working; the current password works until the new link is used.',
  },
  'revoke-link': {
    title: (name) => `Revoke the link of ${name}?`,
    action: 'Revoke link',
    isDangerous: true,
    about: 'The link stops working immediately. You can create another one.',
  },
  'sign-out': {
    title: (name) => `Sign ${name} out everywhere?`,
    action: 'Sign out',
    about: 'All sessions end immediately. The person can sign in again.',
  },
  disable: {
    title: (name) => `Disable ${name}?`,
    action: 'Disable',
    isDangerous: true,
    about: 'All sessions end immediately, and the person cannot sign in until you enable it again.',
  },
  delete: {
    title: (name) => `Delete ${name}?`,
    action: 'Delete',
    isDangerous: true,
    about: 'All sessions end immediately. What the person changed stays in the audit log.',
  },
};

type Changed = Person & Partial<PersonLink>;

const callOf = (act: Act, id: string, sendEmail: boolean): Promise<Changed> => {
  const params = { path: { id } };
  switch (act) {
    case 'link':
      return bodyOf(api.POST('/admin/v1/people/{id}/link', { params, body: { sendEmail } }));
    case 'revoke-link':
      return bodyOf(api.DELETE('/admin/v1/people/{id}/link', { params }));
    case 'sign-out':
      return bodyOf(api.POST('/admin/v1/people/{id}/sign-out', { params }));
    case 'disable':
      return bodyOf(api.PATCH('/admin/v1/people/{id}', { params, body: { disabled: true } }));
    case 'delete':
      return bodyOf(api.DELETE('/admin/v1/people/{id}', { params }));
  }
};

/** One person, and what can be done about it. */
export function PersonPanel({ of: person, onLink, onDeleted }: PersonPanelProps) {
  const { data: session } = useSuspenseQuery(sessionQuery);
  const queries = useQueryClient();
  const [act, setAct] = useState<Act | 'edit'>();
  const isOwn = person.id === session.personId;
  const isEnabled = person.state !== 'disabled';
  const enable = useMutation({
    mutationFn: () =>
      bodyOf(
        api.PATCH('/admin/v1/people/{id}', {
          params: { path: { id: person.id } },
          body: { disabled: false },
        }),
      ),
    onSuccess: (changed) => personChanged(queries, changed),
  });
  if (act === 'edit') return <EditPerson of={person} onDone={() => setAct(undefined)} />;

  const offered: readonly (readonly [Act, string, boolean])[] = [
    ['link', person.state === 'invited' ? 'New invitation link' : 'Reset password', isEnabled],
    ['revoke-link', 'Revoke link', person.linkExpiresAt !== null],
    ['sign-out', 'Sign out everywhere', person.state === 'active'],
    ['disable', 'Disable', isEnabled && !isOwn],
    ['delete', 'Delete', !isOwn],
  ];
  return (
    <Stack>
      {person.mayChange && (
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => setAct('edit')}>
            Edit
          </Button>
          {!isEnabled && (
            <Button size="xs" variant="default" loading={enable.isPending} onClick={() => enable.mutate()}>
              Enable
            </Button>
          )}
          {offered
            .filter(([, , isOffered]) => isOffered)
            .map(([name, label]) => (
              <Button
                key={name}
                size="xs"
                {...(ACTS[name].isDangerous ? { variant: 'light', color: 'red' } : { variant: 'default' })}
                onClick={() => setAct(name)}
              >
                {label}
              </Button>
            ))}
        </Group>
      )}
      {!person.mayChange && (
        <Text size="sm" c="dimmed">
          Only an admin can change this person.
        </Text>
      )}
      <Facts
        of={[
          ['E-mail address', person.email],
          ['Role', person.role],
          ...(person.teams.length === 0
            ? []
            : ([['Teams', <Names key="teams" of={person.teams} />]] as const)),
          [
            'Last sign-in',
            person.lastSignInAt === null ? 'never' : <Moment key="in" at={person.lastSignInAt} />,
          ],
          ['Created', <Moment key="created" at={person.createdAt} />],
          person.linkExpiresAt === null
            ? ['Link', 'none']
            : [
                Date.parse(person.linkExpiresAt) > Date.now() ? 'Link expires' : 'Link expired',
                <Moment key="link" at={person.linkExpiresAt} />,
              ],
        ]}
      />
      <PageLink to="/roles">What this role may do</PageLink>
      {act !== undefined && (
        <PersonAct
          of={person}
          act={act}
          onClose={() => setAct(undefined)}
          onDone={(changed) => {
            setAct(undefined);
            const { link, delivery = null, ...of } = changed;
            if (link !== undefined) onLink({ of, link, delivery });
            if (act === 'delete') onDeleted();
          }}
        />
      )}
    </Stack>
  );
}

interface PersonActProps {
  readonly of: Person;
  readonly act: Act;
  readonly onClose: () => void;
  readonly onDone: (changed: Changed) => void;
}

function PersonAct({ of: person, act, onClose, onDone }: PersonActProps) {
  const queries = useQueryClient();
  const { title, action, isDangerous = false, about } = ACTS[act];
  const [sendEmail, setSendEmail] = useState(false);
  const change = useMutation({
    mutationFn: () => callOf(act, person.id, sendEmail),
    onSuccess: async (changed) => {
      const { link: _, delivery: __, ...shown } = changed;
      if (act === 'delete') await queries.invalidateQueries({ queryKey: ['people'] });
      else await personChanged(queries, shown);
      onDone(changed);
    },
  });
  return (
    <ConfirmDialog
      title={title(person.name)}
      action={action}
      isDangerous={isDangerous}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">{about}</Text>
        {act === 'link' && (
          <Checkbox
            label={SEND_EMAIL}
            checked={sendEmail}
            onChange={(event) => setSendEmail(event.currentTarget.checked)}
          />
        )}
      </Stack>
    </ConfirmDialog>
  );
}

function EditPerson({ of: person, onDone }: { of: Person; onDone: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: ({ name, role, teams }: PersonValues) =>
      bodyOf(
        api.PATCH('/admin/v1/people/{id}', {
          params: { path: { id: person.id } },
          body: { name: name.trim(), role, teams },
        }),
      ),
    onSuccess: async (changed) => {
      await personChanged(queries, changed);
      onDone();
    },
  });
  return (
    <PersonForm
      of={person}
      action="Save"
      isPending={change.isPending}
      error={change.error}
      onSubmit={change.mutate}
      onCancel={onDone}
    />
  );
}
