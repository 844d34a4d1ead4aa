import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;

/**
 * Stream Load with java.net.http.HttpClient (Java 11 and later).
 *
 * <p>USER=… PASSWORD=… java Load.java http://fe:8030 db table file.csv
 *
 * <p>The client would follow a redirect without the login, so it does not follow any. With
 * expectContinue the file goes only to the backend: the frontend answers 307 before a byte of it.
 */
public class Load {
  static String escape(String s) {
    return URLEncoder.encode(s, StandardCharsets.UTF_8).replace("+", "%20");
  }

  static HttpResponse<String> put(HttpClient client, String url, Path file) throws Exception {
    String login = System.getenv("USER") + ":" + System.getenv("PASSWORD");
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .version(HttpClient.Version.HTTP_1_1)
            .timeout(Duration.ofMinutes(5))
            .expectContinue(true)
            .header("Authorization", "Basic " + Base64.getEncoder().encodeToString(login.getBytes(StandardCharsets.UTF_8)))
            .header("column_separator", ",")
            .header("format", "csv")
            .PUT(HttpRequest.BodyPublishers.ofFile(file))
            .build();
    return client.send(request, HttpResponse.BodyHandlers.ofString());
  }

  public static void main(String[] args) throws Exception {
    HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).build();
    Path file = Path.of(args[3]);
    HttpResponse<String> answer = put(client, args[0] + "/api/" + escape(args[1]) + "/" + escape(args[2]) + "/_stream_load", file);
    if (answer.statusCode() == 307) {
      answer = put(client, answer.headers().firstValue("Location").orElseThrow(), file);
    }
    System.out.println(answer.body().strip());
    if (!answer.body().matches("(?s).*\"Status\": \"(Success|Publish Timeout)\".*")) {
      System.err.println("HTTP " + answer.statusCode() + ": not loaded");
      System.exit(1);
    }
  }
}
