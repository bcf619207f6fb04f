import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconMailCheck } from '@tabler/icons-react';
import type { Person, PersonLink } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { exactTime } from '../../parts/moment.tsx';

export interface ShownLink {
  readonly of: Person;
  /** A URL, or a path of this server. */
  readonly link: string;
  readonly delivery: PersonLink['delivery'];
}

export const SEND_EMAIL = 'Send the link by e-mail';

/** Shows the link by which a person sets a password, this once. */
export function LinkDialog({
  shown: { of: person, link, delivery },
  onClose,
}: {
  shown: ShownLink;
  onClose: () => void;
}) {
  return (
    <Dialog
      onClose={onClose}
      title={person.state === 'invited' ? `Invitation for ${person.name}` : `New password for ${person.name}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        {delivery?.isSent ? (
          <Alert color="green" variant="light" icon={<IconMailCheck aria-hidden />}>
            <Text size="sm" c="var(--mantine-color-text)">
              The link was sent to {person.email}. It cannot be shown again.
            </Text>
          </Alert>
        ) : (
          <Alert color="orange" variant="light" icon={<IconAlertTriangle aria-hidden />}>
            <Text size="sm" c="var(--mantine-color-text)">
              {delivery?.message ?? `Copy it now and send it to ${person.email} yourself.`} Only its hash is
              stored, so it cannot be shown again.
            </Text>
          </Alert>
        )}
        <CopyField label="Link" value={new URL(link, globalThis.location.origin).href} />
        <Text size="sm">
          Anyone who opens it can set the password. It works once
          {person.linkExpiresAt !== null && `, until ${exactTime(person.linkExpiresAt)}`}. An earlier link no
          longer works.
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>{delivery?.isSent ? 'Done' : 'I have copied it'}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
