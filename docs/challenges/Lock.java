import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;

/**
 * A lock of your own: change the class Lock, and nothing below its marked end.
 *
 * <p>The check speaks with it through standard input and output, see docs/any-language.md. Your own
 * messages go to System.err. Start it with "java docs/challenges/Lock.java", or compile it first,
 * which makes each start a second faster.
 */
class Lock {
  /** What the lock offers: the later challenges say what to put here. */
  static final String HELLO = ""; // for example: ,"features":["renewal","lost"]

  final List<Redis> redis; // the servers
  final String key;
  final double lease; // seconds
  final double nodeTimeout; // seconds: how long one server of several may take
  volatile Runnable lost; // run it when the lease of a grant is gone before unlock

  Lock(List<Redis> redis, String key, double lease, double nodeTimeout) {
    this.redis = redis;
    this.key = key;
    this.lease = lease;
    this.nodeTimeout = nodeTimeout;
  }

  /**
   * Makes one attempt: 0 is refused, anything else is granted, and is the fencing token if the lock
   * offers fencing. redis.get(0).ask(100, "SET", key, "x") sends a command to the first server and
   * returns its answer: null, a Long, a String or a List. It throws an IOException if there is none
   * within 100 seconds, or if Redis answers with an error.
   */
  long tryLock() throws IOException {
    return 1;
  }

  /** Releases the lock. Returns false if it was not this owner's. */
  boolean unlock() throws IOException {
    return true;
  }

  // The end of what you change.

  static final Map<String, Lock> owners = new ConcurrentHashMap<>();
  static final List<Redis> servers = new ArrayList<>();
  static volatile double pause = 0.1;

  public static void main(String[] args) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String request = line;
      switch (text(line, "type")) {
        case "hello" -> hello(line);
        case "build" -> build(line);
        case "cancel" -> {}
        default -> {
          Thread thread = new Thread(() -> serve(request));
          thread.setDaemon(true);
          thread.start();
        }
      }
    }
    Runtime.getRuntime().halt(0); // and release nothing
  }

  static void hello(String line) {
    Matcher node = Pattern.compile("\\{[^{}]*\"address\"[^{}]*\\}").matcher(line);
    while (node.find()) servers.add(new Redis(node.group()));
    answer(line, "hello", ",\"protocol\":1" + HELLO);
  }

  static void build(String line) {
    double lease = number(line, "lease_ms", 0) / 1000;
    pause = number(line, "poll_ms", 100) / 1000;
    double nodeTimeout = number(line, "node_timeout_ms", lease * 50) / 1000;
    owners.put(text(line, "owner"), new Lock(servers, text(line, "key"), lease, nodeTimeout));
    answer(line, "ok", "");
  }

  static void serve(String line) {
    try {
      if (!text(line, "type").equals("unlock")) acquire(line);
      else if (owners.get(text(line, "owner")).unlock()) answer(line, "ok", "");
      else error(line, "not_held", "not this owner's");
    } catch (IOException e) {
      error(line, "unknown", e.toString());
    } catch (InterruptedException e) {
      error(line, "canceled", e.toString());
    }
  }

  static void acquire(String line) throws IOException, InterruptedException {
    Lock owner = owners.get(text(line, "owner"));
    double deadline = number(line, "deadline_ms", 0);
    double end = deadline > 0 ? System.nanoTime() / 1e9 + deadline / 1000 : Double.MAX_VALUE;
    String of = ",\"of\":" + (long) number(line, "id", 0);
    owner.lost = () -> say("{\"type\":\"lost\"" + of + "}");
    for (; ; ) {
      long granted = owner.tryLock();
      if (granted != 0) {
        boolean fenced = HELLO.contains("\"fencing\"");
        answer(line, "granted", fenced ? ",\"token\":" + granted : "");
        return;
      }
      if (text(line, "type").equals("try")) {
        answer(line, "refused", "");
        return;
      }
      double rest = pause * (0.5 + Math.random() / 2);
      if (System.nanoTime() / 1e9 + rest >= end) {
        error(line, "deadline", "not granted in time");
        return;
      }
      Thread.sleep((long) (rest * 1000));
    }
  }

  static String text(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
    return found.find() ? found.group(1) : null;
  }

  static double number(String json, String name, double otherwise) {
    Matcher found = Pattern.compile("\"" + name + "\":([0-9.]+)").matcher(json);
    return found.find() ? Double.parseDouble(found.group(1)) : otherwise;
  }

  static void answer(String line, String type, String more) {
    say("{\"id\":" + (long) number(line, "id", 0) + ",\"type\":\"" + type + "\"" + more + "}");
  }

  static void error(String line, String word, String text) {
    String plain = text.replaceAll("[\"\\\\\\p{Cntrl}]", "'");
    answer(line, "error", ",\"error\":\"" + word + "\",\"text\":\"" + plain + "\"");
  }

  static synchronized void say(String json) {
    System.out.println(json);
    System.out.flush();
  }
}

/** A server, with as many connections as are in use at the same time. */
class Redis {
  private final String host, user, password;
  private final int port;
  private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();

  Redis(String node) {
    String address = Lock.text(node, "address");
    int colon = address.lastIndexOf(':');
    host = address.substring(0, colon);
    port = Integer.parseInt(address.substring(colon + 1));
    user = Lock.text(node, "user");
    password = Lock.text(node, "password");
  }

  Object ask(double seconds, Object... words) throws IOException {
    Connection connection = idle.pollFirst();
    Object answer;
    try {
      if (connection == null) connection = connect(seconds);
      answer = connection.ask(seconds, words);
    } catch (IOException e) {
      if (connection != null) connection.socket.close();
      idle.clear(); // the others broke, too
      throw e;
    }
    idle.addFirst(connection);
    if (answer instanceof IOException e) throw e;
    return answer;
  }

  private Connection connect(double seconds) throws IOException {
    Connection connection = new Connection(new Socket(host, port));
    if (password == null) return connection;
    if (user == null) connection.ask(seconds, "AUTH", password);
    else connection.ask(seconds, "AUTH", user, password);
    return connection;
  }

  private static class Connection {
    final Socket socket;
    private final InputStream in;

    Connection(Socket socket) throws IOException {
      this.socket = socket;
      socket.setTcpNoDelay(true);
      in = new BufferedInputStream(socket.getInputStream());
    }

    Object ask(double seconds, Object... words) throws IOException {
      socket.setSoTimeout(Math.max((int) (seconds * 1000), 1));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.writeBytes(("*" + words.length + "\r\n").getBytes());
      for (Object word : words) {
        byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
        out.writeBytes(("$" + bytes.length + "\r\n").getBytes());
        out.writeBytes(bytes);
        out.writeBytes("\r\n".getBytes());
      }
      socket.getOutputStream().write(out.toByteArray());
      return read();
    }

    private Object read() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0) throw new EOFException("the server closed the connection");
        line.append((char) c);
      }
      String rest = line.substring(1, line.length() - 1);
      switch (line.charAt(0)) {
        case '+':
          return rest;
        case '-':
          return new IOException(rest);
        case ':':
          return Long.parseLong(rest);
      }
      int n = Integer.parseInt(rest);
      if (n < 0) return null;
      if (line.charAt(0) == '$') {
        String text = new String(in.readNBytes(n), StandardCharsets.UTF_8);
        in.readNBytes(2);
        return text;
      }
      List<Object> values = new ArrayList<>();
      for (int i = 0; i < n; i++) values.add(read());
      return values;
    }
  }
}
