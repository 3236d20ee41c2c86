import type { Socket } from 'node:net';
import { problem, type Problem, PROBLEM_TYPE } from '@app/orders/http';

/** Requests that Node could not even read: the answer is written by hand, and the socket closed. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer = problemOf(error.code);
  const body = JSON.stringify(answer);
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.title}\r\n` +
      `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return problem('headers_too_large', 'The headers are larger than this server takes');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return problem('request_timeout', 'The request took too long to arrive');
  }
  return problem('invalid_request', 'This is not HTTP as this server reads it');
}
