import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Person } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { exactTime } from '../../parts/moment.tsx';

export interface ShownLink {
  readonly of: Person;
  /** A URL, or a path of this server. */
  readonly link: string;
}

/** Shows the link by which a person sets a password, this once. */
export function LinkDialog({
  shown: { of: person, link },
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
        <Alert color="orange" variant="light" icon={<IconAlertTriangle aria-hidden />}>
          <Text size="sm" c="var(--mantine-color-text)">
            Copy it now and send it to {person.email} yourself. Only its hash is stored, so it cannot be shown
            again.
          </Text>
        </Alert>
        <CopyField label="Link" value={new URL(link, globalThis.location.origin).href} />
        <Text size="sm">
          Anyone who opens it can set the password. It works once
          {person.linkExpiresAt !== null && `, until ${exactTime(person.linkExpiresAt)}`}. An earlier link no
          longer works.
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
