import { ActionIcon, Button, FileButton, Group, Pill, Text, Textarea, Tooltip } from '@mantine/core';
import { getHotkeyHandler } from '@mantine/hooks';
import { IconMessagePlus, IconPhotoPlus, IconPlayerStop, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { useDraft } from '../desk.ts';
import type { Picture, UserMessage } from './protocol.ts';
import classes from './text-panel.module.css';

interface MessageBoxProps {
  /** Why nothing can be sent; undefined: it can. */
  readonly hindrance: string | undefined;
  readonly isRunning: boolean;
  readonly hasTurns: boolean;
  readonly onSend: (message: UserMessage) => void;
  readonly onStop: () => void;
  readonly onClear: () => void;
}

const MAX_PICTURES = 8;
const PICTURE_TYPES = 'image/png,image/jpeg,image/webp,image/gif';

/** What is sent to every model on the page. */
export function MessageBox(props: MessageBoxProps) {
  const { hindrance, isRunning, hasTurns, onSend, onStop, onClear } = props;
  const { text, change } = useDraft('message');
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const maySend = hindrance === undefined && !isRunning && (text.trim() !== '' || pictures.length > 0);
  const send = (): void => {
    if (!maySend) return;
    onSend({ text, pictures });
    change('');
    setPictures([]);
  };
  const add = async (files: readonly File[]): Promise<void> => {
    const added = await Promise.all(
      files.map(async (file) => ({ name: file.name, mediaType: file.type, base64: await base64Of(file) })),
    );
    setPictures((before) => [...before, ...added].slice(0, MAX_PICTURES));
  };

  return (
    <div className={classes.message}>
      {pictures.length > 0 && (
        <Pill.Group mb={6}>
          {pictures.map((picture) => (
            <Pill
              key={picture.name}
              withRemoveButton
              removeButtonProps={{ 'aria-label': `Remove ${picture.name}` }}
              onRemove={() => setPictures((before) => before.filter((one) => one !== picture))}
            >
              {picture.name}
            </Pill>
          ))}
        </Pill.Group>
      )}
      <Textarea
        aria-label="Message"
        placeholder="Write a message. Ctrl+Enter to send, Escape to stop."
        autosize
        minRows={2}
        maxRows={10}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
        onKeyDown={getHotkeyHandler([['mod+Enter', send]])}
      />
      <Group justify="space-between" mt={6} gap="xs" wrap="nowrap">
        <Group gap="xs" wrap="nowrap">
          <FileButton accept={PICTURE_TYPES} multiple onChange={(files) => void add(files)}>
            {(button) => (
              <Tooltip label="Attach images">
                <ActionIcon {...button} variant="default" size="lg" aria-label="Attach images">
                  <IconPhotoPlus size={18} aria-hidden />
                </ActionIcon>
              </Tooltip>
            )}
          </FileButton>
          {hasTurns && (
            <Tooltip label="New conversation">
              <ActionIcon variant="default" size="lg" aria-label="New conversation" onClick={onClear}>
                <IconMessagePlus size={18} aria-hidden />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        <Group gap="xs" wrap="nowrap">
          {hindrance !== undefined && (
            <Text size="xs" c="dimmed" ta="end">
              {hindrance}
            </Text>
          )}
          {isRunning ? (
            <Button
              color="red"
              variant="light"
              leftSection={<IconPlayerStop size={16} aria-hidden />}
              onClick={onStop}
            >
              Stop all
            </Button>
          ) : (
            <Button
              flex="none"
              leftSection={<IconSend size={16} aria-hidden />}
              disabled={!maySend}
              onClick={send}
            >
              Send
            </Button>
          )}
        </Group>
      </Group>
    </div>
  );
}

/** A file in base64. */
function base64Of(file: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener('load', () => resolve(String(reader.result).replace(/^data:[^,]*,/, '')));
  reader.addEventListener('error', () => reject(reader.error));
  reader.readAsDataURL(file);
  return promise;
}
